import type { Page } from 'playwright-core'
import t from 'tap'
import type { AccessChecked, AccessReview } from '../../src/contract/access.ts'
import { draws } from '../draws.ts'
import { granted, withNamespaces } from '../http/granted.ts'
import { comesTo, openBrowser, signIn, skip, TOKEN } from './browser.ts'
import type { Started } from './service.ts'
import { withSessions } from './ways.ts'
import { goWithin } from './within.ts'

const RIGHTS = ['flag.read', 'flag.update', 'segment.delete', 'token.create', 'audit.read', 'subject.erase']
const PLACES = ['*', 'shop', 'till', 'default']
const table = (page: Page) => page.getByRole('table', { name: 'Tokens with the right' })

/** The present rows as the id in their link and the text of their reason. */
const rowsOf = (page: Page) =>
  page.evaluate<readonly string[]>(
    `[...document.querySelectorAll('tbody tr')].map((row) =>
      (row.querySelector('th a')?.pathname.split('/').at(-1) ?? '') + ' ' + row.children[1].textContent)`,
  )

const WORDS: Readonly<Record<string, string>> = {
  admin: 'Admin',
  auditor: 'Auditor',
  editor: 'Editor',
  viewer: 'Viewer',
}
const reasonOf = ({ reason, because }: Pick<AccessReview['entries'][number], 'reason' | 'because'>, ns: string) => {
  if (reason === 'full_reach') return 'Full access'
  if (!because) return `All of ${ns}`
  const role = because.role === undefined ? 'A right' : WORDS[because.role]
  return `${role} in ${because.namespaceKey === '*' ? 'every namespace' : because.namespaceKey}`
}

/** Tokens of every kind; some end. Returns positions before, between and after. */
const history = async (service: Started): Promise<readonly string[]> => {
  const at: string[] = []
  const make = async (name: string, more: object) => {
    const { headers, json } = await service.request<{ authentication: { id: string } }>(
      'POST',
      '/auth/v1/method/token',
      { name, ...more },
    )
    at.push(String(headers['event-position']))
    return json.authentication.id
  }
  const grant = (...texts: readonly string[]) => ({
    grants: texts.map((text) => ({ role: text.split('@')[0], namespaceKey: text.split('@')[1] })),
  })
  const first = await make('first', grant('editor@shop', 'viewer@*'))
  await make('bound', { namespaceKey: 'shop' })
  await make('narrow', { namespaceKey: 'till', role: 'viewer' })
  const second = await make('second', grant('admin@till'))
  await make('rights', { grants: [{ rights: ['flag.update', 'token.create'], namespaceKey: 'shop' }] })
  for (const id of [first, second]) {
    const { headers } = await service.request('DELETE', `/auth/v1/tokens/${id}`)
    at.push(String(headers['event-position']))
  }
  await make('auditor', { role: 'auditor' })
  return at
}

await t.test('the page Access answers as the API does, now and in the past', { skip }, async (t) => {
  const { service, ada } = await withSessions(t)
  await withNamespaces(service, 'shop', 'till')
  const moments = await history(service)
  const { page } = await openBrowser(t, service)
  await signIn(page, '/access')
  await page.getByRole('heading', { name: 'Access', level: 1 }).waitFor()
  const draw = draws(t)
  const pick = <T>(of: readonly T[]): T => of[draw(0, of.length)]!
  for (let n = 0; n < 20; n++) {
    const [right, ns, at] = [pick(RIGHTS), pick(PLACES), n % 2 === 0 ? '' : pick(moments)]
    const query = new URLSearchParams({ right, namespaceKey: ns, ...(at !== '' && { at }) }).toString()
    const { json } = await service.request<AccessReview>('GET', `/audit/v1/access?${query}`)
    const path = `/access?right=${right}${ns === '*' ? '' : `&ns=${ns}`}${at === '' ? '' : `&at=${at}`}`
    await goWithin(page, path)
    const due = json.entries.map((entry) => `${entry.authenticationId} ${reasonOf(entry, ns)}`)
    await comesTo(t, () => rowsOf(page), due, path)
    await page.getByText(due.length === 1 ? '1 token or session' : `${due.length} tokens and sessions`).waitFor()
  }

  await goWithin(page, '/access?right=flag.read')
  const person = table(page).getByRole('row').filter({ hasText: 'Ada' }).first()
  t.equal(
    await person.getByRole('link').getAttribute('href'),
    `/settings/sessions/${ada[0].authentication.id}`,
    'a session is named by its person',
  )
})

await t.test('the page Access decides about one token, and shows makers', { skip }, async (t) => {
  const { service } = await withSessions(t)
  await withNamespaces(service, 'shop')
  const { id, clientToken } = await granted(service, {
    name: 'maker',
    grants: [{ role: 'admin', namespaceKey: 'shop' }],
  })
  const { json } = await service.request<{ authentication: { id: string } }>(
    'POST',
    '/auth/v1/method/token',
    { name: 'made', namespaceKey: 'shop', role: 'viewer' },
    { authorization: `Bearer ${clientToken}` },
  )
  const made = json.authentication.id
  const { page } = await openBrowser(t, service)
  await signIn(page, '/access', TOKEN)
  await page.getByRole('combobox', { name: 'Right' }).selectOption({ label: 'read flags · flag.read' })
  await page.getByRole('main').getByRole('combobox', { name: 'Namespace' }).fill('sho')
  await page.getByRole('option', { name: /^shop/ }).click()
  await page.getByRole('heading', { name: 'Who can read flags in shop now?' }).waitFor()
  const row = table(page).getByRole('row').filter({ hasText: 'made' })
  await row.getByRole('link', { name: 'maker' }).waitFor()
  t.equal(await row.getByRole('link', { name: 'maker' }).getAttribute('href'), `/settings/tokens/${id}`)

  await page.getByRole('combobox', { name: 'Token' }).fill('mad')
  await page.getByRole('option', { name: 'made' }).click()
  await page.waitForURL(`${service.url}/access?right=flag.read&ns=shop&token=${made}`)
  await page.getByRole('heading', { name: 'Can made read flags in shop now?' }).waitFor()
  const answer = page.getByRole('status', { name: 'Answer' })
  const answers = (words: string) => comesTo(t, () => answer.innerText(), words)
  await answers('Yes Viewer in shop')
  await page.getByRole('combobox', { name: 'Right' }).selectOption({ label: 'change flags · flag.update' })
  await answers('No No grant gives it this right there')
  const { headers } = await service.request('DELETE', `/auth/v1/tokens/${made}`)
  await page.reload()
  await answers('No It was deleted')
  const before = Number(headers['event-position']) - 1
  await page.goto(`/access?right=flag.read&ns=shop&token=${made}&at=${before}`)
  await answers('Yes Viewer in shop')
  const check = await service.request<AccessChecked>(
    'GET',
    `/auth/v1/access/check?right=flag.read&namespaceKey=shop&id=${made}&at=${before}`,
  )
  t.ok(check.json.allowed)

  const saved = page.waitForEvent('download')
  await page.getByRole('link', { name: 'Download as CSV' }).click()
  t.match((await saved).suggestedFilename(), /^rollcall-access-\d+\.csv$/)
  await page.goto('/access?right=flag.fly&ns=shop')
  await page.getByRole('heading', { name: 'Who can change flags in shop now?' }).waitFor()
})

import type { Page } from 'playwright-core'
import t from 'tap'
import { becomesTrue, comesTo, openBrowser, signedIn, skip, withSession } from './browser.ts'
import { type Started, startService } from './service.ts'

const path = '/settings/tokens'
/** Rows per page. */
const PAGE = 50
const nameOf = (n: number) => `t${String(n).padStart(3, '0')}`

const make = async ({ request }: Started, body: object) =>
  (await request<{ authentication: { id: string }; clientToken: string }>('POST', '/auth/v1/method/token', body)).json

const rowsOf = async (page: Page): Promise<readonly string[]> => {
  await page.getByRole('rowheader').first().waitFor()
  await page.locator('[aria-busy=true]').waitFor({ state: 'hidden' })
  return page.getByRole('rowheader').getByRole('link').allTextContents()
}

/** Returns every row of the list, page by page. */
const walked = async (page: Page): Promise<readonly string[]> => {
  const seen: string[] = []
  for (;;) {
    const rows = await rowsOf(page)
    seen.push(...rows)
    const next = page.getByRole('navigation', { name: 'Pages' }).getByRole('button', { name: 'Next page' })
    if (!(await next.isVisible())) return seen
    await next.click()
    await page.getByRole('link', { name: rows[0]!, exact: true }).waitFor({ state: 'hidden' })
  }
}

await t.test('the list shows 120 tokens, each once, and its address has the page', { skip }, async (t) => {
  const { page, service } = await signedIn(t, path)
  const ids: string[] = []
  for (let n = 0; n < 120; n++)
    ids.push(
      (
        await make(service, {
          name: nameOf(n),
          ...(n % 2 && { expiresAt: new Date(Date.UTC(2040, 0, 1 + ((n * 37) % 120))).toISOString() }),
          ...(n % 10 === 0 && { namespaceKey: 'default' }),
        })
      ).authentication.id,
    )
  for (const n of [3, 70, 119]) await service.request('DELETE', `/auth/v1/tokens/${ids[n]}`)
  const live = Array.from({ length: 120 }, (_, n) => n).filter((n) => ![3, 70, 119].includes(n))
  const bootstrap = 'initial_bootstrap_token'

  await page.goto(path)
  await page.getByRole('heading', { name: 'Static Tokens 118' }).waitFor()
  const newest = [...live.map(nameOf).toReversed(), bootstrap]
  t.same(await walked(page), newest, 'newest first, to the end')
  t.match(page.url(), /page=/)
  const first = (name: string) => page.getByRole('rowheader').first().getByText(name, { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Previous page' }).click()
  await first(newest[PAGE]!)
  await page.getByRole('button', { name: 'Previous page' }).click()
  await page.getByRole('rowheader', { name: 't118' }).waitFor()

  await page.getByRole('columnheader', { name: 'Token', exact: true }).getByRole('button').click()
  await page.getByRole('rowheader', { name: 't000' }).waitFor()
  t.equal(await page.getByRole('columnheader', { name: 'Token', exact: true }).getAttribute('aria-sort'), 'ascending')
  t.match(page.url(), /sort=name/)
  t.same(await walked(page), [bootstrap, ...live.map(nameOf)], 'by name')
  const ends = (n: number) => (n * 37) % 120
  const ending = live.filter((n) => n % 2).toSorted((one, other) => ends(other) - ends(one))
  await page.getByRole('columnheader', { name: 'Expires' }).getByRole('button').click()
  await first(nameOf(ending.at(-1)!))
  t.equal((await walked(page)).length, 118)
  await page.getByRole('columnheader', { name: 'Expires' }).getByRole('button').click()
  await page.waitForURL(/sort=-expiresAt/)
  await first(nameOf(ending[0]!))
  const late = await walked(page)
  t.equal(new Set(late).size, 118, 'each once')
  t.same(late.slice(0, ending.length), ending.map(nameOf), 'latest first, those that never end last')

  await page.getByRole('searchbox', { name: 'Search tokens' }).fill('T11')
  await page.getByRole('heading', { name: 'Static Tokens 9' }).waitFor()
  t.match(page.url(), /q=T11/)
  t.notMatch(page.url(), /page=/, 'another search begins at its first page')
  await page.getByRole('main').getByRole('combobox', { name: 'Namespace' }).click()
  await page.getByRole('option', { name: /^default/ }).click()
  await page.getByRole('heading', { name: 'Static Tokens 1' }).waitFor()
  t.match(page.url(), /ns=default/)
  t.same(await rowsOf(page), ['t110'])
  await page.reload()
  t.same(await rowsOf(page), ['t110'], 'the address says it all')
  await comesTo(t, () => page.getByRole('main').getByRole('combobox', { name: 'Namespace' }).inputValue(), 'default')
  await page.getByRole('main').getByRole('combobox', { name: 'Namespace' }).click()
  await page.getByRole('option', { name: 'All namespaces' }).click()
  await page.getByRole('heading', { name: 'Static Tokens 9' }).waitFor()
  t.notMatch(page.url(), /ns=/)

  await page.goto(`${path}?status=DELETED`)
  t.equal(await page.getByRole('combobox', { name: 'Status' }).inputValue(), 'DELETED')
  t.same(await walked(page), ['t119', 't070', 't003'])
  await page.getByRole('link', { name: 't070' }).click()
  await page.getByRole('heading', { name: 't070', level: 1 }).waitFor()
})

await t.test('the page of a token shows its history, also after its end', { skip }, async (t) => {
  const { page, service } = await signedIn(t, path)
  const { authentication: maker, clientToken } = await make(service, { name: 'the maker' })
  const { json: made } = await service.request<{ authentication: { id: string }; clientToken: string }>(
    'POST',
    '/auth/v1/method/token',
    { name: 'nightly', description: 'of the night', metadata: { team: 'blue' } },
    { authorization: `Bearer ${clientToken}` },
  )
  await service.request('GET', '/auth/v1/self', undefined, { authorization: `Bearer ${made.clientToken}` })
  await page.goto(path)
  const row = page.getByRole('row', { name: /nightly/ })
  await row.getByText('by the maker').waitFor()
  t.match(await row.textContent(), /by the maker.*today.*Never/s)
  await row.getByText('Full access that never ends').waitFor()
  await row.getByRole('link', { name: 'nightly' }).click()

  await page.getByRole('heading', { name: 'nightly', level: 1 }).waitFor()
  await becomesTrue(page, "document.title === 'nightly · Static Tokens · Rollcall'")
  const life = page.getByRole('list', { name: 'Life of the token' })
  await life.getByText('today', { exact: true }).first().waitFor()
  t.match(await life.getByRole('listitem').allTextContents(), [/^Created \(UTC\)/, /^Last usedtoday/, /^ExpiresNever/])
  for (const words of ['of the night', 'team', 'blue', 'Active']) await page.getByText(words, { exact: true }).waitFor()
  t.notMatch(await page.getByRole('main').textContent(), /token\.name/, 'no fact appears twice')

  await page.getByRole('button', { name: 'Delete token' }).click()
  const ask = page.getByRole('alertdialog', { name: 'Delete token nightly?' })
  await ask.getByText('Last used today.').waitFor()
  await ask.getByRole('button', { name: 'Delete token' }).click()
  await page.getByRole('status').getByText('Token nightly deleted.').waitFor()
  await life.getByText('Removed').waitFor()
  await ask.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Delete token' }).waitFor({ state: 'detached' })
  await page.reload()
  await page.getByText('Deleted', { exact: true }).waitFor()
  await comesTo(t, () => life.getByRole('listitem').count(), 4)

  await page.getByRole('link', { name: 'the maker' }).click()
  await page.waitForURL(`**/settings/tokens/${maker.id}`)
  await page.getByRole('heading', { name: 'the maker', level: 1 }).waitFor()
})

await t.test('each time in the list of tokens is on one line', { skip }, async (t) => {
  const { page, service } = await withSession(t)
  for (const days of [27, 300]) {
    const expiresAt = new Date(Date.now() + days * 86_400_000).toISOString()
    await make(service, { name: `for ${days} days`, expiresAt })
  }
  await page.goto(path)
  t.equal((await rowsOf(page)).length, 3)
  const lines = await page.evaluate(
    `[...document.querySelectorAll('td time')].map((time) => time.getClientRects().length)`,
  )
  t.strictSame([...new Set(lines as number[])], [1])
  const region = `document.querySelector('[role=region]')`
  t.equal(await page.evaluate(`${region}.scrollWidth > ${region}.clientWidth`), false, 'and nothing scrolls')
})

await t.test('the page reports a token that does not exist', { skip }, async (t) => {
  const { page } = await signedIn(t, `${path}/5f0c5a7e-6a51-4f2e-9d52-0d8a3d0f3a11`, {}, { forced: [401, 404] })
  await page.getByRole('heading', { name: 'Token not found' }).waitFor()
})

await t.test('the form notes another active token of the same name', { skip }, async (t) => {
  const { page, service } = await signedIn(t, path)
  await make(service, { name: 'ci' })
  const { authentication } = await make(service, { name: 'old' })
  await service.request('DELETE', `/auth/v1/tokens/${authentication.id}`)
  await page.getByRole('button', { name: 'New token' }).click()
  const form = page.getByRole('dialog', { name: 'New static token' })
  const notice = form.getByText('There is an active token of this name.')
  await form.getByRole('textbox', { name: 'Name' }).fill(' ci ')
  await notice.waitFor()
  await form.getByRole('textbox', { name: 'Name' }).fill('old')
  await notice.waitFor({ state: 'hidden' })
  await form.getByRole('textbox', { name: 'Name' }).fill('ci')
  await notice.waitFor()
  await form.getByRole('combobox', { name: 'Role' }).selectOption({ label: 'Full access' })
  await form.getByRole('button', { name: 'Create token' }).click()
  await page.getByRole('dialog', { name: 'Token created' }).waitFor()
})

await t.test('if static tokens are disabled, existing ones are shown and none can be created', { skip }, async (t) => {
  const before = await startService(t, { 'rate_limit.enabled': 'false' })
  await make(before, { name: 'from before' })
  await before.close()
  const settings = {
    'rate_limit.enabled': 'false',
    'authentication.required': 'false',
    'authentication.methods.token.enabled': 'false',
  }
  const service = await startService(t, settings, { directory: before.directory })
  const { page } = await openBrowser(t, service)
  await page.goto(path)
  await page.getByText('Static tokens are switched off. Tokens made before go on working.').waitFor()
  await page.getByRole('rowheader', { name: 'from before' }).waitFor()
  t.notOk(await page.getByRole('button', { name: 'New token' }).isVisible())
})

await t.test('a token at a past moment cannot be changed', { skip }, async (t) => {
  const { page, service } = await withSession(t)
  const { authentication } = await make(service, { name: 'mortal' })
  const { headers } = await service.request('GET', `/auth/v1/tokens/${authentication.id}`)
  t.equal(headers['etag'], '"1"')
  const made = await service.request('POST', '/auth/v1/method/token', { name: 'later' })
  const at = String(made.headers['event-position'])
  await service.request('DELETE', `/auth/v1/tokens/${authentication.id}`)
  await page.goto(`${path}?at=${at}&sort=name`)
  t.same(await rowsOf(page), ['initial_bootstrap_token', 'later', 'mortal'])
  await page.getByRole('link', { name: 'mortal' }).click()
  await page.waitForURL(`**${path}/${authentication.id}?at=${at}`)
  await page.getByRole('heading', { level: 1, name: 'mortal' }).waitFor()
  await page.getByRole('main').getByText('Active', { exact: true }).waitFor()
  t.equal(await page.getByRole('button', { name: 'Delete token' }).getAttribute('aria-disabled'), 'true')
})

import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { maker } from '../http/flags.ts'
import { granted, withNamespaces } from '../http/granted.ts'
import { type Action, actions, named } from './actions.ts'
import { comesTo, openBrowser, restOf, settled, signIn, skip, TOKEN } from './browser.ts'
import { button } from './flag-page.ts'
import { type Fields, type Started, startService } from './service.ts'
import { withSessions } from './ways.ts'
import { goWithin, leftWithin } from './within.ts'

const SETTINGS = { 'authentication.methods.token.bootstrap.token': TOKEN, 'rate_limit.enabled': 'false' }
const FORCED = { forced: [401, 403] }

const seeded = async (t: Test): Promise<Started> => {
  const service = await withNamespaces(await startService(t, SETTINGS), 'shop', 'till', 'vacant')
  for (const namespace of ['shop', 'till']) {
    const make = maker(service, namespace)
    for (const key of ['asked', 'kept']) await make.boolean(key)
    await make.segment('kept')
  }
  await granted(service, { name: 'bound', role: 'viewer', namespaceKey: 'shop' })
  return service
}

const KEEPING = ['create', 'delete', 'read', 'update']
  .map((act) => `namespace.${act}`)
  .concat('flag.read', 'segment.read', 'self.use')

/** Users with their grants, and their sections before and after Preferences. */
type Person = { readonly asked: Fields; readonly sections: readonly string[]; readonly last?: readonly string[] }
const people: Readonly<Record<string, Person>> = {
  'a viewer': {
    asked: { role: 'viewer' },
    sections: ['Flags', 'Segments', 'Evaluate', 'History', 'Namespaces'],
  },
  'an editor of one namespace who views another': {
    asked: {
      grants: [
        { role: 'editor', namespaceKey: 'shop' },
        { role: 'viewer', namespaceKey: 'till' },
      ],
    },
    sections: ['Flags', 'Segments', 'Evaluate', 'History', 'Namespaces'],
  },
  'an administrator of one namespace': {
    asked: { grants: [{ role: 'admin', namespaceKey: 'shop' }] },
    sections: ['Flags', 'Segments', 'Evaluate', 'History', 'Static Tokens', 'Namespaces'],
  },
  'an auditor': {
    asked: { role: 'auditor' },
    sections: ['Flags', 'Segments', 'Evaluate', 'History', 'Access', 'Static Tokens', 'Sessions', 'Namespaces'],
    last: ['System'],
  },
  'a manager of namespaces': {
    asked: { grants: [{ rights: KEEPING, namespaceKey: '*' }] },
    sections: ['Flags', 'Segments', 'Namespaces'],
  },
  'a reader of the flags of one namespace': {
    asked: { grants: [{ rights: ['flag.read', 'self.use'], namespaceKey: 'shop' }] },
    sections: ['Flags'],
  },
}

const needs = (right: string, namespaceKey: string): string =>
  `Needs ${right} in ${namespaceKey === '*' ? 'every namespace' : namespaceKey}.`

/** Paths that were loaded in a test. */
const loaded = new Set<string>()
/** Loads a path in the first test, and navigates to it within the app in the others. */
const open = (page: Page, path: string): Promise<unknown> => {
  if (loaded.has(path)) return goWithin(page, path)
  loaded.add(path)
  return page.goto(path)
}

/** Whether the page shows its data, once all requests are answered, and no refusal. */
const isRead = async (page: Page, action: Action, rest: () => Promise<void>): Promise<boolean> => {
  if (!page.url().endsWith(action.path)) await open(page, action.path)
  const refused = page.getByRole('main').getByText('You may not see this').first()
  await action.control(page).or(refused).first().waitFor()
  await rest()
  return (await refused.count()) === 0
}

for (const [who, { asked, sections, last = [] }] of Object.entries(people))
  await t.test(`as ${who}, exactly those controls are enabled that the service accepts`, { skip }, async (t) => {
    const service = await seeded(t)
    const { clientToken } = await granted(service, asked)
    const headers = { authorization: `Bearer ${clientToken}` }
    const { page } = await openBrowser(t, service, FORCED)
    const refused: string[] = []
    page.on('response', (answer) => {
      if (answer.status() === 403 && answer.request().method() !== 'GET') refused.push(answer.url())
    })
    const rest = restOf(page)
    await signIn(page, '/settings/preferences', clientToken)
    await comesTo(
      t,
      () => page.getByRole('navigation', { name: 'Main' }).getByRole('link').allInnerTexts(),
      [...sections, 'Preferences', ...last],
      'the sections that there is something to do in',
    )
    for (const action of actions) {
      const { right, namespaceKey, path, control, then } = action
      const query = new URLSearchParams({ right, namespaceKey }).toString()
      const { json } = await service.request<{ readonly allowed: boolean }>(
        'GET',
        `/auth/v1/access/check?${query}`,
        undefined,
        headers,
      )
      if (!(await isRead(page, action, rest))) {
        t.notOk(json.allowed && right.endsWith('.read'), `${right} in ${namespaceKey}: nothing of ${path} is told`)
        if (json.allowed || (await control(page).count()) === 0) continue
      }
      await comesTo(
        t,
        () => control(page).getAttribute('aria-disabled'),
        json.allowed ? null : 'true',
        `${right} ${path}`,
      )
      await control(page).click({ force: true })
      if (json.allowed) {
        await then(page)
        // The next action begins with its page.
        if (!(await leftWithin(page))) await page.goto('/nowhere')
      } else {
        const words = await control(page).getAttribute('aria-description')
        t.ok([needs(right, namespaceKey), `Needs ${right}.`].includes(words ?? ''), `${right}: ${words}`)
        t.equal(
          await control(page)
            .getAttribute('tabindex')
            .then((stop) => stop !== '-1'),
          true,
          'Tab comes to it',
        )
        await settled(page)
        t.equal(await page.getByRole('dialog').or(page.getByRole('alertdialog')).count(), 0, 'nothing opens')
        t.ok(page.url().endsWith(path), 'nothing is left')
      }
    }
    t.strictSame(refused, [], 'no control that could be pressed was refused')
  })

let started: Promise<Started> | undefined
/** Returns a service that no test changes. */
const unchanged = (): Promise<Started> => (started ??= seeded(t))

await t.test('the choice of a past moment is offered only to users with the right to it', { skip }, async (t) => {
  const service = await unchanged()
  const rights = ['flag.read', 'namespace.read', 'self.use']
  const { clientToken } = await granted(service, { grants: [{ rights, namespaceKey: '*' }] })
  const { page } = await openBrowser(t, service, FORCED)
  await signIn(page, '/ns/shop/flags', clientToken)
  await page.getByRole('link', { name: 'kept' }).waitFor()
  await page.keyboard.press('t')
  const past = button(page, '1 hour ago')
  await past.waitFor()
  t.equal(await past.getAttribute('aria-description'), 'Needs history.read.')
  await past.click({ force: true })
  t.ok(page.url().endsWith('/ns/shop/flags'))
})

await t.test('sessions are ended with the right to it, else the page names it', { skip }, async (t) => {
  const { service } = await withSessions(t)
  const { clientToken } = await granted(service, { role: 'auditor' })
  const { page } = await openBrowser(t, service, FORCED)
  await signIn(page, '/settings/sessions', clientToken)
  for (const name of ['End session of Alice', 'End all sessions of Alice'])
    await comesTo(
      t,
      () => button(page, name).getAttribute('data-tip'),
      'Needs token.revoke in every namespace.',
      `${name} says what it needs`,
    )
  await button(page, 'End session of Alice').click({ force: true })
  await settled(page)
  t.equal(await page.getByRole('alertdialog').count(), 0, 'nothing opens')
  const grants = [{ rights: ['token.read', 'token.revoke', 'self.use'], namespaceKey: '*' }]
  const { page: other } = await openBrowser(t, service, FORCED)
  await signIn(other, '/settings/sessions', (await granted(service, { grants })).clientToken)
  await button(other, 'End session of Alice').click()
  await button(other.getByRole('alertdialog'), 'End session').click()
  await other.getByRole('status').getByText('The session of Alice has ended.').waitFor()
})

await t.test('a form that is opened by its address shows the missing right and sends nothing', { skip }, async (t) => {
  const service = await unchanged()
  const { clientToken } = await granted(service, { role: 'viewer' })
  const { page } = await openBrowser(t, service, FORCED)
  const sent: string[] = []
  page.on('request', (request) => void (request.method() === 'POST' && sent.push(request.url())))
  await signIn(page, '/settings/preferences', clientToken)
  sent.length = 0
  for (const thing of ['flag', 'segment']) {
    await page.goto(`/ns/shop/${thing}s/new`)
    const submit = button(page, `Create ${thing}`)
    await comesTo(t, () => submit.getAttribute('aria-disabled'), 'true', `Create ${thing} is disabled`)
    t.equal(await submit.getAttribute('aria-description'), `Needs ${thing}.create in shop.`)
    const name = page.getByRole('textbox', { name: 'Name', exact: true })
    await name.fill('Mine')
    await submit.click({ force: true })
    await name.press('Enter')
    await name.press('Control+Enter')
  }
  await page.goto('/ns/shop/flags')
  await page.getByRole('link', { name: 'kept' }).waitFor()
  t.strictSame(sent, [], 'neither a press nor a key sends a form')
})

await t.test('after a refused action the rights are loaded again, and its control is disabled', { skip }, async (t) => {
  const service = await unchanged()
  const { clientToken } = await granted(service, { role: 'viewer' })
  const { page } = await openBrowser(t, service, FORCED)
  const more = { full: false, publishable: false, places: [{ namespaceKey: 'shop', rights: ['*'] }] }
  await page.route('**/auth/v1/access', (route) => route.fulfill({ json: more }), { times: 1 })
  await signIn(page, '/ns/shop/flags/new', clientToken)
  await named(page, 'Mine', 'Create flag')
  await page.getByRole('alert').getByText('It needs flag.create in shop.').waitFor()
  t.equal(await page.getByRole('textbox', { name: 'Name', exact: true }).inputValue(), 'Mine')
  await comesTo(
    t,
    () => button(page, 'Create flag').getAttribute('aria-description'),
    'Needs flag.create in shop.',
    'it says what it needs',
  )
  const sent: string[] = []
  page.on('request', (request) => void (request.method() === 'POST' && sent.push(request.url())))
  await page.getByRole('textbox', { name: 'Name', exact: true }).press('Enter')
  await page.getByRole('textbox', { name: 'Name', exact: true }).press('Control+Enter')
  t.strictSame(sent, [], 'no key sends it')
})

await t.test('the account menu shows the rights of the user', { skip }, async (t) => {
  const service = await unchanged()
  const grants = [
    { role: 'editor', namespaceKey: 'shop' },
    { role: 'viewer', namespaceKey: 'till' },
  ]
  const { clientToken } = await granted(service, { grants })
  const says = async (token: string, ...words: readonly (string | RegExp)[]) => {
    const { page } = await openBrowser(t, service, FORCED)
    await signIn(page, '/settings/preferences', token)
    await page.getByRole('button', { name: /^Account: / }).click()
    for (const each of words) await page.getByRole('menu').getByText(each).waitFor()
  }
  await says(clientToken, 'Editor in shop', /^You can: .*delete flags/, 'Viewer in till')
  await says(TOKEN, 'Full access')
})

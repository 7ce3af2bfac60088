import type { Page } from 'playwright-core'
import t from 'tap'
import { bearer } from '../http/people.ts'
import { erasePeople } from '../http/subjects.ts'
import type { Started } from '../start.ts'
import { becomesTrue, openBrowser, signIn, skip } from './browser.ts'
import { closeByEscape, headed, settledFocus } from './focus.ts'
import { withEveryWay, withSessions } from './ways.ts'

const path = '/settings/sessions'
const forced = { forced: [0, 401, 403, 503] }
const table = (page: Page) => page.getByRole('table', { name: 'Sessions' })
const row = (page: Page, name: string) => table(page).getByRole('row').filter({ hasText: name })
const works = async ({ request }: Started, token: string) =>
  (await request('GET', '/auth/v1/self', undefined, bearer(token))).status === 200
const refusal = (status: number, message: string) => ({ status, json: { code: 14, message, details: [] } })

await t.test(
  'the page of sessions lists holder, provider and times, with filters in its address',
  { skip },
  async (t) => {
    const { service, exchanged } = await withSessions(t)
    const { page } = await openBrowser(t, service, { forced: [401, 404] })
    await signIn(page, path)
    await page.getByRole('heading', { name: 'Sessions 4', level: 1 }).waitFor()
    t.equal(await row(page, 'Ada').count(), 2)
    await row(page, 'Ada').first().getByText('ada@example.com').waitFor()
    await row(page, 'Ada').first().getByText('Corporate SSO').waitFor()
    await row(page, 'Alice').getByText('Code host').waitFor()
    await row(page, 'apps/web').getByText('Service account').waitFor()
    t.equal(await table(page).getByText('This is you').count(), 0, 'a static token is no session')

    await page.getByRole('combobox', { name: 'Method' }).selectOption({ label: 'Service account' })
    await page.getByRole('heading', { name: 'Sessions 1' }).waitFor()
    t.match(page.url(), /\?method=METHOD_ORCHESTRATOR$/)
    await page.reload()
    await page.getByRole('heading', { name: 'Sessions 1' }).waitFor()
    await page.getByRole('combobox', { name: 'Status' }).selectOption({ label: 'Deleted' })
    await page.getByRole('heading', { name: 'No sessions match' }).waitFor()
    await page.getByRole('button', { name: 'Clear search' }).click()
    await page.getByRole('heading', { name: 'Sessions 4' }).waitFor()

    await page.getByRole('searchbox', { name: 'Search sessions' }).fill('APPS/')
    await page.getByRole('heading', { name: 'Sessions 1' }).waitFor()
    await row(page, 'apps/web').waitFor()
    await page.getByText('What is known of people is sealed').waitFor()
    await page.waitForURL(`${service.url}${path}?q=APPS%2F`)
    await row(page, 'apps/web').getByRole('link').click()
    await page.getByRole('heading', { name: 'apps/web', level: 1 }).waitFor()
    t.equal(page.url(), `${service.url}${path}/${exchanged.authentication.id}`)
    const metadata = page.getByRole('list', { name: 'Metadata' })
    for (const [key, value] of Object.entries(exchanged.authentication.metadata))
      await metadata.getByRole('listitem').filter({ hasText: key }).getByText(value, { exact: true }).waitFor()
    await page.goto(`${path}/none-such`)
    await page.getByRole('heading', { name: 'Session not found' }).waitFor()
    await page.getByText('There is no session none-such now.').waitFor()
  },
)

await t.test('a session is ended, and reported as ended only after success', { skip }, async (t) => {
  const { service, alice, ada } = await withSessions(t)
  const { page } = await openBrowser(t, service, forced)
  await signIn(page, path)
  const address = `**/auth/v1/tokens/${alice.authentication.id}`
  await page.route(address, (route) => route.fulfill(refusal(503, 'service is temporarily unavailable')))
  await page.getByRole('button', { name: 'End session of Alice' }).click()
  const ask = page.getByRole('alertdialog', { name: 'End the session of Alice?' })
  await ask.getByText('Alice is signed out at once.').waitFor()
  const end = ask.getByRole('button', { name: 'End session' })
  await end.click()
  await ask.getByRole('alert').getByText('The session was not ended').waitFor()
  await ask.getByRole('alert').getByText('It is not known whether this was done.').waitFor()
  await page.unroute(address)
  await page.route(address, (route) => route.fulfill(refusal(403, 'permission denied')))
  await end.click()
  await ask.getByRole('alert').getByText('permission denied').waitFor()
  t.ok(await works(service, alice.token), 'nothing was ended')
  await page.unroute(address)
  await page.route(address, async (route) => {
    await route.fetch()
    await route.abort()
  })
  await ask.getByRole('textbox', { name: 'Reason' }).fill('left the team')
  await end.click()
  await ask.getByRole('alert').getByText('It is not known whether this was done.').waitFor()
  await page.unroute(address)
  await end.click()
  await page.getByRole('status').getByText('The session of Alice has ended.').waitFor()
  t.notOk(await works(service, alice.token), 'refused at once')
  t.ok(await works(service, ada[0].token), 'other sessions stay')
  await page.getByRole('heading', { name: 'Sessions 3' }).waitFor()
  await page.locator('a:focus', { hasText: 'Ada' }).waitFor()
  await page.getByRole('combobox', { name: 'Status' }).selectOption({ label: 'Deleted' })
  await row(page, 'Alice').getByText('Deleted', { exact: true }).waitFor()
  t.equal(await row(page, 'Alice').getByRole('button').count(), 0)
})

await t.test('the user can end all sessions of one person only', { skip }, async (t) => {
  const { service, alice, ada, exchanged } = await withSessions(t)
  const { page } = await openBrowser(t, service, forced)
  await signIn(page, path)
  let lost = 0
  await page.route('**/auth/v1/tokens/revoke', async (route) => {
    if (lost++ > 0) return route.fallback()
    await route.fetch()
    return route.abort()
  })
  await page.getByRole('button', { name: 'End all sessions of Ada' }).first().click()
  const ask = page.getByRole('alertdialog', { name: 'End all 2 sessions of Ada?' })
  await ask.getByRole('button', { name: 'End all sessions' }).click()
  await ask.getByRole('alert').getByText('It is not known whether this was done.').waitFor()
  await ask.getByRole('button', { name: 'End all sessions' }).click()
  await page.getByRole('status').getByText('2 sessions of Ada ended.').waitFor()
  for (const { token } of ada) t.notOk(await works(service, token), 'refused at once')
  t.ok(await works(service, alice.token))
  t.ok(await works(service, exchanged.clientToken))
  await page.getByRole('heading', { name: 'Sessions 2' }).waitFor()
  await page.getByRole('link', { name: 'apps/web' }).click()
  await page.getByRole('button', { name: 'End all sessions of apps/web' }).click()
  const account = page.getByRole('alertdialog', { name: 'End the session of apps/web?' })
  await account.getByRole('button', { name: 'End all sessions' }).click()
  await page.getByRole('status').getByText('1 session of apps/web ended.').waitFor()
  t.notOk(await works(service, exchanged.clientToken))
  await page.getByRole('main').getByText('Deleted', { exact: true }).waitFor()
  await page.locator('button:focus', { hasText: 'End all sessions of apps/web' }).waitFor()
  t.equal(
    await page.getByRole('button', { name: 'End session of apps/web' }).count(),
    0,
    'ended sessions are still listed',
  )
})

await t.test('ending the own session signs the user out', { skip }, async (t) => {
  const { service } = await withSessions(t)
  const { page, context } = await openBrowser(t, service, forced)
  const open = async () => {
    await page.goto(path)
    await page.getByRole('button', { name: 'Continue with the code host' }).click()
    await row(page, 'This is you').waitFor()
    t.equal(await table(page).getByText('This is you').count(), 1)
    return (await context.cookies()).find(({ name }) => name === 'service_client_token')!.value
  }
  const token = await open()
  await page.route('**/auth/v1/tokens/*', (route) => route.fulfill(refusal(503, 'service is temporarily unavailable')))
  await row(page, 'This is you').getByRole('button', { name: 'End session of Alice' }).click()
  const ask = page.getByRole('alertdialog', { name: 'End the session of Alice?' })
  await ask.getByText('This is you: you will be signed out.').waitFor()
  await ask.getByRole('button', { name: 'End session' }).click()
  await ask.getByRole('alert').getByText('The session was not ended').waitFor()
  t.ok(await works(service, token))
  await page.unroute('**/auth/v1/tokens/*')
  await ask.getByRole('button', { name: 'End session' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  t.notOk(await works(service, token))
  t.strictSame(await context.cookies(), [])

  const again = await open()
  await row(page, 'This is you').getByRole('button', { name: 'End all sessions of Alice' }).click()
  const all = page.getByRole('alertdialog', { name: 'End all 2 sessions of Alice?' })
  await all.getByText('This is you: you will be signed out.').waitFor()
  await all.getByRole('button', { name: 'End all sessions' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  t.notOk(await works(service, again))
})

await t.test('sessions are found by the palette and ended by keyboard in a narrow window', { skip }, async (t) => {
  const { service, exchanged } = await withSessions(t)
  const { page } = await openBrowser(t, service, { context: { viewport: { width: 375, height: 760 } } })
  const fits = async (what: string) =>
    t.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `nothing is wider: ${what}`)
  await signIn(page)
  await page.keyboard.press('Control+k')
  await page.getByRole('textbox', { name: 'Type a command or search' }).fill('sess')
  await page.getByRole('option', { name: 'Sessions' }).waitFor()
  await page.keyboard.press('Enter')
  await headed(page, 'Sessions 4')
  await fits('the list')
  await row(page, 'apps/web').getByRole('link').focus()
  await page.keyboard.press('Enter')
  await headed(page, 'apps/web')
  await becomesTrue(page, "document.title === 'apps/web · Sessions · Rollcall'")
  await fits('one session')
  await page.getByRole('button', { name: 'End session of apps/web' }).focus()
  await page.keyboard.press('Enter')
  const question = page.getByRole('alertdialog', { name: 'End the session of apps/web?' })
  await question.waitFor()
  await fits('the question')
  await closeByEscape(page, question)
  await page.locator('button:focus', { hasText: 'End session of apps/web' }).waitFor()
  t.ok(await works(service, exchanged.clientToken), 'nothing was asked of the service')
  await page.keyboard.press('Enter')
  await page.getByRole('alertdialog').waitFor()
  await settledFocus(page)
  await page.getByRole('alertdialog').getByRole('button', { name: 'End session' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('status').getByText('The session of apps/web has ended.').waitFor()
  await page.locator('h1:focus').waitFor()
  t.notOk(await works(service, exchanged.clientToken))
})

await t.test('an erased person is not shown, and each of their sessions can be ended', { skip }, async (t) => {
  const { service, ada } = await withSessions(t)
  await erasePeople(service)
  const { page } = await openBrowser(t, service)
  await signIn(page, `${path}?method=METHOD_OIDC`)
  await page.getByRole('heading', { name: 'Sessions 2' }).waitFor()
  t.equal(await row(page, 'Personal data erased').count(), 2)
  t.notMatch(await page.locator('main').innerText(), /ada@|Ada/)
  const id = ada[0].authentication.id.slice(0, 8)
  const all = page.getByRole('button', { name: `End all sessions of ${id}` })
  t.equal(await all.getAttribute('aria-disabled'), 'true')
  await page.getByRole('button', { name: `End session of ${id}` }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'End session' }).click()
  await page.getByRole('status').getByText(`The session of ${id} has ended.`).waitFor()
  t.notOk(await works(service, ada[0].token))
})

await t.test('sessions are shown and ended where the login methods have other names', { skip }, async (t) => {
  const words = {
    'identifiers.service': 'acme',
    'identifiers.codehost': 'forge',
    'identifiers.orchestrator': 'fleet',
  }
  const { service } = await withEveryWay(t, words)
  const { page, context } = await openBrowser(t, service)
  await page.goto(path)
  await page.getByRole('button', { name: 'Continue with the code host' }).click()
  await row(page, 'This is you').getByText('Code host').waitFor()
  await page.getByRole('combobox', { name: 'Method' }).selectOption({ label: 'Code host' })
  await page.waitForURL(`${service.url}${path}?method=METHOD_FORGE`)
  await page.getByRole('heading', { name: 'Sessions 1' }).waitFor()
  const { value } = (await context.cookies()).find(({ name }) => name === 'acme_client_token')!
  t.ok(await works(service, value))
  await page.getByRole('button', { name: 'Account: Alice' }).click()
  await page.getByText('Signed in with the code host').waitFor()
  await page.getByRole('menuitem', { name: 'Sign out…', exact: true }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  t.notOk(await works(service, value), 'the session has ended at the service')
})

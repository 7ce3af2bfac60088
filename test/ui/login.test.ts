import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { deadUrl, unusable } from '../auth/stand-ins/listen.ts'
import { eventsOf } from '../http/events-of.ts'
import { CODEHOST, OIDC, oidcSettings, open } from '../http/people.ts'
import { virtualClock } from '../virtual-clock.ts'
import { openBrowser, signInByHand, skip } from './browser.ts'
import { type Started, startService } from './service.ts'
import { leave, withEveryWay, withWays } from './ways.ts'

const alert = (page: Page) => page.getByRole('alert')
const button = (page: Page, name: string) => page.getByRole('button', { name: `Continue with ${name}` })

await t.test('each login method has a button that works, in the order of the configuration', { skip }, async (t) => {
  const { service } = await withWays(
    t,
    { 'authentication.methods.codehost.display_name': 'GitHub' },
    { zeta: 'Corporate SSO', acme: undefined },
  )
  const names = ['Corporate SSO', 'Acme', 'GitHub']
  for (const name of names) {
    const { page } = await openBrowser(t, service)
    await page.goto('/settings/tokens')
    await button(page, name).waitFor()
    const shown = await page.getByRole('button', { name: /^Continue with/ }).allTextContents()
    t.strictSame(
      shown.map((text) => text.trim()),
      names.map((each) => `Continue with ${each}`),
    )
    await button(page, name).click()
    if (name !== 'GitHub') {
      await page.getByPlaceholder('Enter any login').fill('ada')
      await page.getByPlaceholder('and password').fill('x')
      await page.getByRole('button', { name: 'Sign-in' }).click()
    }
    await page.getByRole('button', { name: name === 'GitHub' ? 'Account: Alice' : 'Account: Ada' }).waitFor()
    t.equal(page.url(), `${service.url}/settings/tokens`)
  }
})

await t.test('after a cancelled login the next one opens the page that was requested', { skip }, async (t) => {
  const { service } = await withWays(t)
  const { page } = await openBrowser(t, service)
  await page.goto('/settings/preferences')
  await button(page, 'Sso').click()
  await page.getByRole('link', { name: 'Cancel' }).click()
  await alert(page).getByText('The provider refused: access denied.').waitFor()
  await alert(page)
    .getByText(/^Request [0-9a-f-]{36}$/)
    .waitFor()
  t.equal(new URL(page.url()).searchParams.get('return_to'), '/settings/preferences')
  await button(page, 'the code host').click()
  await page.getByRole('heading', { name: 'Preferences' }).waitFor()
})

/** Returns from the provider and expects these texts and the request id, which log and history contain too. */
const comeBack = async (t: Test, page: Page, service: Started, query: URLSearchParams | string, words: Told) => {
  await page.goto(`${OIDC}/callback?${String(query)}`)
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await alert(page).getByText(words.title).waitFor()
  await alert(page).getByText(words.check).waitFor()
  const { pathname, searchParams } = new URL(page.url())
  t.equal(pathname, '/login')
  const ref = searchParams.get('ref')!
  await alert(page).getByText(`Request ${ref}`).waitFor()
  t.notMatch(await page.locator('body').innerText(), /[{}]|"code"/, 'no JSON in a tab')
  const lines = (await service.logged()).split('\n').filter((line) => line.includes(ref))
  t.match(lines, [new RegExp(`"reason":"${words.reason}".*a login was refused`)], words.title)
  return { ref, returnTo: searchParams.get('return_to') }
}

type Told = { readonly title: string; readonly check: string; readonly reason: string }
const denied: Told = {
  title: 'The provider refused: access denied.',
  check: 'You, or your administrator there, did not allow it. Try another account.',
  reason: 'provider_error',
}
const mismatch: Told = {
  title: 'The sign-in belongs to another tab or browser.',
  check: 'Sign in again from this page.',
  reason: 'state_mismatch',
}
const missing: Told = {
  title: 'The sign-in could not be matched to this browser.',
  check: 'Open Rollcall at its public address, allow its cookies, and sign in again.',
  reason: 'state_missing',
}
const replayed: Told = {
  title: 'This sign-in was already used.',
  check: 'Going back to it does not work. Sign in again.',
  reason: 'login_replayed',
}
const expired: Told = {
  title: 'The sign-in took too long.',
  check: 'Sign in again and finish within a few minutes.',
  reason: 'login_expired',
}
const down: Told = {
  title: 'The provider could not be reached, or is in trouble.',
  check: 'Try again in a minute. If it stays, give the request id to an administrator.',
  reason: 'provider_unavailable',
}
const unconfirmed: Told = {
  title: 'The provider did not confirm the sign-in.',
  check: 'Try again. If it stays, give the request id to an administrator.',
  reason: 'code_refused',
}
const tooMany: Told = {
  title: 'Too many sign-ins from your network.',
  check: 'Wait a minute, then try again.',
  reason: 'rate_limited',
}
const gone: Told = {
  title: 'This way to sign in is not there any more.',
  check: 'Choose another one below.',
  reason: 'route_not_found',
}
const without = (query: URLSearchParams, ...names: string[]): string => {
  const left = new URLSearchParams(query)
  for (const name of names) left.delete(name)
  return String(left)
}

await t.test('the sign-in page explains a failed login and what to check', { skip }, async (t) => {
  let ahead = 0
  const world = await withEveryWay(t, {}, { now: () => new Date(Date.now() + ahead) })
  const { service, liar } = world
  const { page, context } = await openBrowser(t, service)
  const told: string[] = []
  const fails = async (query: URLSearchParams | string, words: Told, astray = false) => {
    const { ref, returnTo } = await comeBack(t, page, service, query, words)
    t.equal(returnTo, astray ? null : '/settings/preferences', words.title)
    told.push(ref)
  }
  await fails(`${without(await leave(page, world), 'code')}&error=access_denied`, denied)
  await fails(`${without(await leave(page, world), 'state')}&state=tampered`, mismatch)
  await fails(`${without(await leave(page, world), 'code')}&code=wrong`, unconfirmed)

  const cookieless = await leave(page, world)
  await context.clearCookies({ name: /^service_client_state_/ })
  await fails(cookieless, missing, true)

  const lost = await leave(page, world)
  liar.lies = { token: unusable['500']! }
  await fails(lost, down)
  liar.lies = {}

  const late = await leave(page, world)
  ahead = 11 * 60_000
  await fails(late, expired)
  ahead = 0

  const used = await leave(page, world)
  const state = (await context.cookies()).filter(({ name }) => name.startsWith('service_client_state_'))
  await page.goto(`${OIDC}/callback?${String(used)}`)
  await page.getByRole('button', { name: /^Account: / }).waitFor()
  t.equal(page.url(), `${service.url}/settings/preferences`)
  await context.clearCookies()
  await context.addCookies(state)
  await fails(used, replayed)

  await page.unroute(`${liar.url}/authorize*`)
  await button(page, 'Corporate SSO').click()
  await page.getByRole('heading', { name: 'Preferences' }).waitFor()
  t.equal(page.url(), `${service.url}/settings/preferences`, 'a second try leads where the first would have')
  await service.close()
  const kept = await eventsOf(service.directory, ({ type }) => type === 'AuthenticationRefused')
  t.strictSame(
    kept.map(({ data }) => data['requestId']),
    told,
    'the history has each of them',
  )
})

await t.test('the sign-in page shows an unreachable provider next to its button', { skip }, async (t) => {
  const client = { clientId: 'c', clientSecret: 'canary-secret-of-a-client' }
  const { service } = await withEveryWay(t, oidcSettings('far', await deadUrl(), client))
  const { page } = await openBrowser(t, service, { forced: [401, 503] })
  await page.goto('/login')
  await button(page, 'Far').click()
  await alert(page).getByText('Far could not be reached, or is in trouble.').waitFor()
  const [, id] = /Request (\S+)/.exec(await alert(page).innerText()) ?? []
  t.match(
    await service.logged(),
    new RegExp(`"requestId":"${id}".*"reason":"provider_unavailable".*a login was refused`),
  )
  await button(page, 'Corporate SSO').click()
  await page.getByRole('button', { name: /^Account: / }).waitFor()
})

await t.test('the sign-in page shows a wait at the 61st login in a minute', { skip }, async (t) => {
  const clock = virtualClock(new Date().toISOString())
  const world = await withEveryWay(t, { 'rate_limit.enabled': 'true' }, { clock })
  const { service } = world
  const { page } = await openBrowser(t, service, { forced: [401, 429] })
  await leave(page, world)
  for (let n = 0; n < 59; n++) await service.request('GET', `${CODEHOST}/callback`, undefined, open)
  const { ref, returnTo } = await comeBack(t, page, service, 'code=x&state=of-no-login', tooMany)
  t.equal(returnTo, '/settings/preferences')
  await button(page, 'Corporate SSO').click()
  await alert(page)
    .getByText(/^Too many requests\. Try again in \d+ s\./)
    .waitFor()
  await service.close()
  const kept = await eventsOf(service.directory, ({ data }) => data['reason'] === 'rate_limited')
  t.equal(kept[0]?.data['requestId'], ref)
})

await t.test('the sign-in page reports a login method that was disabled during a login', { skip }, async (t) => {
  const world = await withEveryWay(t)
  const { service } = world
  const { url, directory } = service
  const { page } = await openBrowser(t, service, { forced: [0, 401, 404] })
  await page.goto('/login')
  const query = await leave(page, world)
  const stale = await page.context().newPage()
  await stale.goto(`${url}/login`)
  await button(stale, 'Corporate SSO').waitFor()
  await service.close()
  const later = await startService(
    t,
    { 'server.http_port': new URL(url).port, 'server.public_url': url },
    { directory },
  )
  const { ref } = await comeBack(t, page, later, query, gone)
  t.equal(await page.getByRole('button', { name: /^Continue with/ }).count(), 0)
  await stale.bringToFront()
  await button(stale, 'Corporate SSO').click()
  await alert(stale).getByText(gone.title).waitFor()
  await signInByHand(page, '/')
  await later.close()
  const kept = await eventsOf(directory, ({ data }) => data['reason'] === 'route_not_found')
  t.equal(kept[0]?.data['requestId'], ref)
})

import t from 'tap'
import { openBrowser, signedIn, skip } from './browser.ts'
import { tokenNamed } from './ways.ts'

const path = '/settings/tokens'
const offline = 'The service cannot be reached. What you see may be old.'
const refusal = (status: number, reason: string, headers: Record<string, string> = {}) => ({
  status,
  headers,
  json: { code: 14, message: 'service is temporarily unavailable', details: [{ value: { reason } }] },
})

await t.test('a service that does not answer: what was read stays, and it is asked again', { skip }, async (t) => {
  const { page, service } = await signedIn(t, path, {}, { forced: [0, 401] })
  await tokenNamed(service, 'ci-prod')
  await page.reload()
  await page.getByRole('rowheader', { name: 'ci-prod' }).waitFor()
  await page.route('**/auth/v1/**', (route) => route.abort())
  await page.getByRole('combobox', { name: 'Status' }).selectOption('EXPIRED')
  await page.getByText(offline).waitFor()
  const create = page.getByRole('button', { name: 'New token' })
  t.equal(await create.getAttribute('aria-disabled'), 'true')
  t.notOk(await page.getByRole('heading', { name: 'No tokens match' }).isVisible(), 'no false empty list')
  await page.unroute('**/auth/v1/**')
  await page.getByText(offline).waitFor({ state: 'detached' })
  await page.getByRole('heading', { name: 'No tokens match' }).waitFor()
  t.equal(await create.getAttribute('aria-disabled'), null)
})

await t.test('an instance that checks itself is waited for', { skip }, async (t) => {
  const { page } = await signedIn(t, path, {}, { forced: [401, 503] })
  await page.route('**/auth/v1/**', (route) => route.fulfill(refusal(503, 'auth_stale', { 'retry-after': '1' })))
  await page.getByRole('combobox', { name: 'Status' }).selectOption('EXPIRED')
  const words = page.locator('[aria-live]').getByText('The service is checking itself and answers again in a moment.')
  await words.waitFor()
  await page.unroute('**/auth/v1/**')
  await words.waitFor({ state: 'detached' })
  t.notOk(await page.getByRole('dialog').isVisible(), 'nobody is asked to sign in')
})

await t.test('a service that is away as the page opens is asked again', { skip }, async (t) => {
  const { page } = await signedIn(t, path, {}, { forced: [0, 401] })
  await page.route('**/auth/v1/**', (route) => route.abort())
  await page.reload()
  await page.getByRole('alert').getByText(offline).waitFor()
  await page.unroute('**/auth/v1/**')
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByRole('heading', { name: 'Static Tokens' }).waitFor()
})

await t.test('too many requests: the way on is counted down, then open', { skip }, async (t) => {
  const { page } = await signedIn(t, path, {}, { forced: [401, 429] })
  await page.route('**/auth/v1/tokens*', (route) => route.fulfill(refusal(429, 'rate_limited', { 'retry-after': '2' })))
  await page.getByRole('combobox', { name: 'Status' }).selectOption('EXPIRED')
  await page.getByRole('alert').getByText('Too many requests. Try again in 2 s.').waitFor()
  const again = page.getByRole('button', { name: /^Try again/ })
  t.equal(await again.getAttribute('aria-disabled'), 'true')
  await page.unroute('**/auth/v1/tokens*')
  await page.getByRole('button', { name: 'Try again', exact: true }).click()
  await page.getByRole('heading', { name: 'No tokens match' }).waitFor()
})

await t.test('a write that the lists have not seen yet is no failure', { skip }, async (t) => {
  const { page } = await signedIn(t, path, {}, { forced: [401, 503] })
  await page.route('**/auth/v1/tokens*', (route) => route.fulfill(refusal(503, 'view_behind')))
  await page.getByRole('combobox', { name: 'Status' }).selectOption('EXPIRED')
  await page.getByText('Saved. The lists are still catching up.').waitFor()
  await page.unroute('**/auth/v1/tokens*')
  await page.getByRole('button', { name: 'Refresh' }).click()
  await page.getByRole('heading', { name: 'No tokens match' }).waitFor()
})

await t.test('a page that the service has replaced is told, once it is noticed', { skip }, async (t) => {
  const { service } = await signedIn(t, path)
  const { page } = await openBrowser(t, service)
  await page.clock.install()
  await page.goto(path)
  await page.getByLabel('Client token').fill('the-bootstrap-token-of-the-tests')
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('heading', { name: 'Static Tokens' }).waitFor()
  await page.clock.fastForward(61_000)
  await page.route(`${service.url}/`, (route) =>
    route.fulfill({ contentType: 'text/html', body: '<script src="ui/assets/index-another1.js"></script>' }),
  )
  await page.getByRole('link', { name: 'Preferences' }).click()
  await page.getByText('Rollcall was updated. Reload when you are done here.').waitFor()
  await page.getByRole('button', { name: 'Reload' }).waitFor()
})

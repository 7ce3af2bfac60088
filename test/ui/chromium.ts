import { existsSync } from 'node:fs'
import { type Browser, chromium, type Page } from 'playwright-core'
import { addressAt } from './windows.ts'

export { WINDOW } from './window.ts'

export const TOKEN = 'the-bootstrap-token-of-the-tests'
/** The headless shell is preferred because it needs less work. */
const PLACES = [
  process.env['ROLLCALL_TEST_CHROMIUM'],
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
]
const executablePath = PLACES.find((place) => place !== undefined && existsSync(place))
/** Reason to skip the tests of the web UI; false if Chromium is available. */
export const skip = executablePath
  ? false
  : 'no Chromium (Debian: apt-get install chromium-headless-shell), and no ROLLCALL_TEST_CHROMIUM'

/** Disabled features. Chromium uses only the last list, so it includes the relevant ones of Playwright's list. */
const DISABLED = [
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsFirstBalancedModeAutoEnable',
  'HttpsUpgrades',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PaintHolding',
  'PreconnectToSearch',
  'ThirdPartyStoragePartitioning',
  'AvoidCorsURLLoaderRestartOnRedirect',
  // A page then loads into the frame of the previous one, which saves a quarter of the work of a load.
  'RenderDocument',
]
const ALONE = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  `--disable-features=${DISABLED.join(',')}`,
]
/** Pages of tests live so short that their scripts cost less unoptimized. */
const UNOPTIMIZED = '--js-flags=--no-maglev --no-turbofan'

/** Starts a Chromium that sends no requests by itself. `optimized`: it optimizes scripts, as browsers of users do. */
export const launchChromium = (optimized = false): Promise<Browser> =>
  chromium.launch({ executablePath: executablePath!, args: optimized ? ALONE : [...ALONE, UNOPTIMIZED] })

/** Signs in with a client token by the request of the sign-in page. */
export const beginSession = async (page: Page, token = TOKEN): Promise<void> => {
  const answer = await page.context().request.post(addressAt(page, '/auth/v1/self/session'), {
    headers: { authorization: `Bearer ${token}` },
  })
  if (!answer.ok()) throw new Error(`not signed in: ${answer.status()}`)
}

/** Opens a page while signed in. */
export const show = async (page: Page, path: string): Promise<void> => {
  await page.goto(path)
  await page.getByRole('button', { name: /^Account: / }).waitFor()
}

/** Signs in, and opens a page. */
export const signIn = async (page: Page, path = '/', token = TOKEN): Promise<void> => {
  await beginSession(page, token)
  await show(page, path)
}

/** Signs in on the sign-in page, and opens a page. */
export const signInByHand = async (page: Page, path = '/', token = TOKEN): Promise<void> => {
  await page.goto(path)
  const field = page.getByLabel('Client token')
  const closed = page.getByRole('button', { name: 'Use a client token', expanded: false })
  await field.or(closed).waitFor()
  if (await closed.isVisible()) await closed.click()
  await field.fill(token)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('button', { name: /^Account: / }).waitFor()
}

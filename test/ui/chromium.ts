import { existsSync } from 'node:fs'
import { type Browser, chromium, type Page } from 'playwright-core'
import { addressAt } from './windows.ts'

export { WINDOW } from './window.ts'

export const TOKEN = 'the-bootstrap-token-of-the-tests'
/** The shell without a window of its own does the same with less work. */
const PLACES = [
  process.env['ROLLCALL_TEST_CHROMIUM'],
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
]
const executablePath = PLACES.find((place) => place !== undefined && existsSync(place))
/** Why the web UI is not driven here; false where it is. */
export const skip = executablePath
  ? false
  : 'no Chromium: install the package chromium-headless-shell or chromium, or set ROLLCALL_TEST_CHROMIUM'

const ALONE = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** A Chromium of its own, which asks for nothing by itself. */
export const launchChromium = (): Promise<Browser> => chromium.launch({ executablePath: executablePath!, args: ALONE })

/** Signs in with a client token, as the page of the sign-in does. */
export const beginSession = async (page: Page, token = TOKEN): Promise<void> => {
  const answer = await page.context().request.post(addressAt(page, '/auth/v1/self/session'), {
    headers: { authorization: `Bearer ${token}` },
  })
  if (!answer.ok()) throw new Error(`not signed in: ${answer.status()}`)
}

/** Opens a page for somebody who is signed in. */
export const show = async (page: Page, path: string): Promise<void> => {
  await page.goto(path)
  await page.getByRole('button', { name: /^Account: / }).waitFor()
}

/** Signs in, and opens a page. */
export const signIn = async (page: Page, path = '/', token = TOKEN): Promise<void> => {
  await beginSession(page, token)
  await show(page, path)
}

/** The same by hand, on the page that the browser is sent to. */
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

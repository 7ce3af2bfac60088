import { existsSync } from 'node:fs'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { type Started, startService } from '../start.ts'

export const TOKEN = 'the-bootstrap-token-of-the-tests'
const PLACES = [process.env['ROLLCALL_TEST_CHROMIUM'], '/usr/bin/chromium', '/usr/bin/chromium-browser']
const executablePath = PLACES.find((place) => place !== undefined && existsSync(place))
/** Why tests of the web UI are skipped; false where they are not. */
export const skip = executablePath ? false : 'no Chromium: install the package chromium, or set ROLLCALL_TEST_CHROMIUM'

const ALONE = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

let browser: Promise<Browser> | undefined
t.teardown(async () => (await browser)?.close())
const launched = (): Promise<Browser> => (browser ??= chromium.launch({ executablePath: executablePath!, args: ALONE }))

/** What a page must not do; `forced` are statuses that the test brings about, whose line on the console is the browser's own. */
const watched = (t: Test, page: Page, origin: string, forced: readonly number[], broken: RegExp | undefined): void => {
  // What the page of a login's provider does is its own affair.
  const ours = () => !URL.canParse(page.url()) || [origin, 'null'].includes(new URL(page.url()).origin)
  const wrong = (what: string) => (ours() ? t.fail(what) : undefined)
  page.on('pageerror', (error) => wrong(`error in the page: ${error.message}`))
  page.on('console', (message) => {
    if (message.type() !== 'error' && !/Content Security Policy|Trusted Type/.test(message.text())) return
    const status = Number(/status of (\d+)/.exec(message.text())?.[1] ?? Number.NaN)
    const dropped = forced.includes(0) && /net::ERR_/.test(message.text())
    if (!forced.includes(status) && !dropped && !broken?.test(message.text()))
      wrong(`on the console: ${message.text()}`)
  })
  page.on('request', (request) => {
    const { protocol, origin: asked } = new URL(request.url())
    if (/^https?:$/.test(protocol) && asked !== origin && !request.isNavigationRequest())
      wrong(`a request to elsewhere: ${request.url()}`)
  })
}

export type OpenOptions = {
  /** Statuses of answers that the test forces; 0 is no answer. */
  readonly forced?: readonly number[]
  /** Errors of the page that the test forces, as they stand on the console. */
  readonly broken?: RegExp
  readonly context?: BrowserContextOptions
}

/** A browser window of its own on a service: `page` and its `context`. A console error, a policy violation, an error of the page or a request to elsewhere fails the test. */
export const openBrowser = async (
  t: Test,
  { url }: Pick<Started, 'url'>,
  { forced = [401], broken, context: options = {} }: OpenOptions = {},
): Promise<{ readonly page: Page; readonly context: BrowserContext; readonly newPage: () => Promise<Page> }> => {
  const context = await (await launched()).newContext({
    baseURL: url,
    viewport: { width: 1280, height: 800 },
    locale: 'en-GB',
    timezoneId: 'UTC',
    ...options,
  })
  context.setDefaultTimeout(20_000)
  t.teardown(() => context.close())
  const newPage = async () => {
    const page = await context.newPage()
    watched(t, page, new URL(url).origin, forced, broken)
    return page
  }
  return { page: await newPage(), context, newPage }
}

/** Signs in with a client token on the page that the browser is sent to, and waits for the page asked for. */
export const signIn = async (page: Page, path = '/', token = TOKEN): Promise<void> => {
  await page.goto(path)
  const field = page.getByLabel('Client token')
  const closed = page.getByRole('button', { name: 'Use a client token', expanded: false })
  await field.or(closed).waitFor()
  if (await closed.isVisible()) await closed.click()
  await field.fill(token)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('button', { name: /^Account: / }).waitFor()
}

/** A service, and a browser signed in on a page of it. */
export const signedIn = async (
  t: Test,
  path: string,
  settings: Parameters<typeof startService>[1] = {},
  options: OpenOptions = {},
) => {
  const service = await startService(t, { 'rate_limit.enabled': 'false', ...settings })
  const opened = await openBrowser(t, service, options)
  await signIn(opened.page, path)
  return { service, ...opened }
}

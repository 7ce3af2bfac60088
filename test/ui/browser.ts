import { isDeepStrictEqual } from 'node:util'
import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page, Request } from 'playwright-core'
import root, { type Test } from 'tap'
import { type Started, startService } from '../start.ts'
import { eventually } from '../wait.ts'
import { beginSession, launchChromium, show, WINDOW } from './chromium.ts'
import { giveBack, keptWindow, pageOf, pointAt, type Window } from './windows.ts'

export { signIn, signInByHand, skip, TOKEN } from './chromium.ts'

/** A locator gives up at half the time of the file: what it waited for is told before the file ends. */
const GIVE_UP_MS = Number(process.env['TAP_TIMEOUT'] ?? 300) * 500

let browser: Promise<Browser> | undefined
/** The Chromium of the file that runs, started once it is asked for. */
const chromium = (): Promise<Browser> => {
  if (browser) return browser
  root.teardown(async () => {
    const ending = browser
    browser = undefined
    await (await ending)?.close()
  })
  return (browser = launchChromium())
}

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

/**
 * Waits until an expression is true in the page, asked anew each time: the browser lets a question pass the policy of the page, and refuses
 * what the page itself would have to ask again.
 */
export const becomesTrue = async (page: Page, expression: string): Promise<void> => {
  await eventually(() => page.evaluate<unknown>(expression), expression)
}

/** Waits until a look gives this, asked anew until it does. */
export const comesTo = async <T>(
  t: Test,
  look: () => Promise<T>,
  wanted: T,
  words = 'comes to that',
): Promise<void> => {
  await eventually(async () => isDeepStrictEqual(await look(), wanted), `${words}: ${JSON.stringify(wanted)}`)
  t.pass(words)
}

/** Opens a tab; gives its panel. Look for things in it: that of the tab before is there for a moment longer. */
export const openTab = async (page: Page, name: string): Promise<Locator> => {
  await page.getByRole('tab', { name }).click()
  return page.getByRole('tabpanel', { name })
}

/** Lets the clock of the page run on, a second at a time, until this is seen. */
export const runsOnTo = async (page: Page, seen: Locator): Promise<void> => {
  await eventually(async () => {
    if (await seen.isVisible()) return true
    await page.clock.runFor(1000)
    return false
  }, String(seen))
}

/** Lets all come to rest that the page does without a clock. */
export const settled = (page: Page): Promise<unknown> =>
  page.evaluate(`(async () => {
    for (let turn = 0; turn < 5; turn++)
      await new Promise((done) => {
        const { port1, port2 } = new MessageChannel()
        port1.onmessage = () => done(port1.close())
        port2.postMessage(0)
      })
  })()`)

/** Stops the clock of the page; it moves on only where the test moves it. */
export const stopClock = async (page: Page): Promise<void> =>
  page.clock.pauseAt(await page.evaluate<number>('Date.now() + 60_000'))

/** Moves a clock that stands still by a millisecond each until this is on the page: since then a millisecond has gone by, or none. */
export const stepsTo = async (page: Page, seen: Locator): Promise<void> => {
  await eventually(async () => {
    await settled(page)
    if ((await seen.count()) > 0) return true
    await page.clock.runFor(1)
    return false
  }, String(seen))
}

/** Tells of a page from now on when it has come to rest: every request is answered, and what came of that asks for no more. */
export const restOf = (page: Page): (() => Promise<void>) => {
  const open = new Set<Request>()
  page.on('request', (request) => open.add(request))
  page.on('requestfinished', (request) => open.delete(request))
  page.on('requestfailed', (request) => open.delete(request))
  return async () => {
    await eventually(async () => {
      if (open.size > 0) return false
      await settled(page)
      return open.size === 0
    }, 'a page at rest')
  }
}

export type OpenOptions = {
  /** Statuses of answers that the test forces; 0 is no answer. */
  readonly forced?: readonly number[]
  /** Errors of the page that the test forces, as they stand on the console. */
  readonly broken?: RegExp
  readonly context?: BrowserContextOptions
  /** Whether the page may use the clipboard. */
  readonly clipboard?: boolean
  /** Whether the test moves the clock of the page, which goes on by itself too. */
  readonly clock?: boolean
}

/** A browser window of its own on a service: `page` and its `context`. A console error, a policy violation, an error of the page or a request to elsewhere fails the test. */
export const openBrowser = async (
  t: Test,
  { url }: Pick<Started, 'url'>,
  { forced = [401], broken, context: options = {}, clipboard = false, clock = false }: OpenOptions = {},
): Promise<{ readonly page: Page; readonly context: BrowserContext; readonly newPage: () => Promise<Page> }> => {
  const browser = await chromium()
  const { viewport, ...special } = options
  const isPlain = !clock && Object.keys(special).length === 0
  const make = async (): Promise<Window> => {
    const context = await browser.newContext({ ...WINDOW, ...options })
    context.setDefaultTimeout(GIVE_UP_MS)
    if (clock) await context.clock.install()
    return { context, page: await pageOf(context) }
  }
  const window = (isPlain ? keptWindow(browser) : undefined) ?? (await make())
  const { page, context } = window
  t.teardown(() => (isPlain && t.passing() ? giveBack(browser, window) : context.close()))
  pointAt(context, url)
  if (clipboard) await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  if (viewport) await page.setViewportSize(viewport)
  const watch = (page: Page): Page => {
    watched(t, page, new URL(url).origin, forced, broken)
    return page
  }
  return { page: watch(page), context, newPage: async () => watch(await pageOf(context)) }
}

type Settings = Parameters<typeof startService>[1]

/** A service, and a browser that is signed in there and shows nothing yet. */
export const withSession = async (t: Test, settings: Settings = {}, options: OpenOptions = {}) => {
  const service = await startService(t, { 'rate_limit.enabled': 'false', ...settings })
  const opened = await openBrowser(t, service, options)
  await beginSession(opened.page)
  return { service, ...opened }
}

/** The same, on a page of the service. */
export const signedIn = async (t: Test, path: string, settings: Settings = {}, options: OpenOptions = {}) => {
  const opened = await withSession(t, settings, options)
  await show(opened.page, path)
  return opened
}

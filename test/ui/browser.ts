import { isDeepStrictEqual } from 'node:util'
import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page, Request } from 'playwright-core'
import type { Test } from 'tap'
import { endsWithProcess } from '../ci/lasting.ts'
import { eventually } from '../wait.ts'
import { beginSession, launchChromium, show, WINDOW } from './chromium.ts'
import { type Started, startService } from './service.ts'
import { giveBack, keptWindow, pageOf, pointAt, type Window } from './windows.ts'

export { signIn, signInByHand, skip, TOKEN } from './chromium.ts'

/** Timeout of locators: half the time limit of the file, so that their error is reported before it. */
const GIVE_UP_MS = Number(process.env['TAP_TIMEOUT'] ?? 300) * 500

let browser: Promise<Browser> | undefined
/** Returns the Chromium of the process, started on first use. */
const chromium = (): Promise<Browser> => (browser ??= launched())
const launched = async (): Promise<Browser> => {
  const before = process.getActiveResourcesInfo()
  const browser = await launchChromium()
  const handles = process.getActiveResourcesInfo().filter((type) => /^(Process|Pipe)Wrap$/.test(type))
  for (const type of before) if (handles.includes(type)) handles.splice(handles.indexOf(type), 1)
  endsWithProcess({ handles, end: () => browser.close() })
  return browser
}

/**
 * Fails the test on errors of a page. `forced` are status codes that the test causes, which the browser logs as console
 * errors.
 */
const watched = (
  t: Test,
  page: Page,
  origin: string,
  { forced = [401], broken, calls }: Pick<OpenOptions, 'forced' | 'broken' | 'calls'>,
): void => {
  // Errors on a page of a login provider are ignored.
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
    if (/^https?:$/.test(protocol) && asked !== origin && asked !== calls && !request.isNavigationRequest())
      wrong(`a request to elsewhere: ${request.url()}`)
  })
}

/**
 * Waits until an expression is true, evaluating it from outside each time. The page's policy blocks the evaluation by
 * the page itself.
 */
export const becomesTrue = async (page: Page, expression: string): Promise<void> => {
  await eventually(() => page.evaluate<unknown>(expression), expression)
}

/** Waits until `look` returns `wanted`. */
export const comesTo = async <T>(
  t: Test,
  look: () => Promise<T>,
  wanted: T,
  words = 'comes to that',
): Promise<void> => {
  await eventually(async () => isDeepStrictEqual(await look(), wanted), `${words}: ${JSON.stringify(wanted)}`)
  t.pass(words)
}

/** Opens a tab and returns its panel. Search in the panel, because the previous one stays for a moment. */
export const openTab = async (page: Page, name: string): Promise<Locator> => {
  await page.getByRole('tab', { name }).click()
  return page.getByRole('tabpanel', { name })
}

/** Advances the clock of the page by seconds until the locator is visible. */
export const runsOnTo = async (page: Page, seen: Locator): Promise<void> => {
  await eventually(async () => {
    if (await seen.isVisible()) return true
    await page.clock.runFor(1000)
    return false
  }, String(seen))
}

/** Waits for the work of the page that needs no clock. */
export const settled = (page: Page): Promise<unknown> =>
  page.evaluate(`(async () => {
    for (let turn = 0; turn < 5; turn++)
      await new Promise((done) => {
        const { port1, port2 } = new MessageChannel()
        port1.onmessage = () => done(port1.close())
        port2.postMessage(0)
      })
  })()`)

/** Waits for two frames, after which the page has received all events of resizing and scrolling so far. */
export const rendered = (page: Page): Promise<unknown> =>
  page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')

/** Stops the clock of the page; only the test advances it. */
export const stopClock = async (page: Page): Promise<void> =>
  page.clock.pauseAt(await page.evaluate<number>('Date.now() + 60_000'))

/**
 * Advances a stopped clock by single milliseconds until the locator is on the page, so at most 1 ms has passed since.
 */
export const stepsTo = async (page: Page, seen: Locator): Promise<void> => {
  await eventually(async () => {
    await settled(page)
    if ((await seen.count()) > 0) return true
    await page.clock.runFor(1)
    return false
  }, String(seen))
}

/** Returns a function that waits until all requests of the page, except live streams, are answered and cause no others. */
export const restOf = (page: Page): (() => Promise<void>) => {
  const open = new Set<Request>()
  page.on('request', (request) => {
    if (!request.url().includes('format=sse')) open.add(request)
  })
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
  /** Status codes that the test causes; 0 is no answer. */
  readonly forced?: readonly number[]
  /** Page errors that the test causes, as logged on the console. */
  readonly broken?: RegExp
  /** Another origin to which the page sends requests. */
  readonly calls?: string
  readonly context?: BrowserContextOptions
  /** Whether the page may use the clipboard. */
  readonly clipboard?: boolean
  /** Whether the test can advance the clock of the page, which also runs by itself. */
  readonly clock?: boolean
}

/**
 * Opens a browser window on a service. Console errors, policy violations, page errors and foreign requests fail the
 * test.
 */
export const openBrowser = async (
  t: Test,
  { url }: Pick<Started, 'url'>,
  { forced, broken, calls, context: options = {}, clipboard = false, clock = false }: OpenOptions = {},
): Promise<{ readonly page: Page; readonly context: BrowserContext; readonly newPage: () => Promise<Page> }> => {
  const browser = await chromium()
  const { viewport, colorScheme = null, reducedMotion = null, ...special } = options
  const isPlain = !clock && Object.keys(special).length === 0
  const make = async (): Promise<Window> => {
    const context = await browser.newContext({ ...WINDOW, ...special })
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
  await page.emulateMedia({ colorScheme, reducedMotion })
  const watch = (page: Page): Page => {
    watched(t, page, new URL(url).origin, {
      ...(forced && { forced }),
      ...(broken && { broken }),
      ...(calls !== undefined && { calls }),
    })
    return page
  }
  return { page: watch(page), context, newPage: async () => watch(await pageOf(context)) }
}

type Settings = Parameters<typeof startService>[1]

/** Starts a service and a browser that is signed in on an empty page. */
export const withSession = async (t: Test, settings: Settings = {}, options: OpenOptions = {}) => {
  const service = await startService(t, { 'rate_limit.enabled': 'false', ...settings })
  const opened = await openBrowser(t, service, options)
  await beginSession(opened.page)
  return { service, ...opened }
}

/** Starts a service and a browser that is signed in on a page. */
export const signedIn = async (t: Test, path: string, settings: Settings = {}, options: OpenOptions = {}) => {
  const opened = await withSession(t, settings, options)
  await show(opened.page, path)
  return opened
}

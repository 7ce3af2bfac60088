import { setTimeout } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { type Started, startService } from '../start.ts'
import { launchChromium, signIn, WINDOW } from './chromium.ts'

export { signIn, skip, TOKEN } from './chromium.ts'

let browser: Promise<Browser> | undefined
t.teardown(async () => (await browser)?.close())
const launched = (): Promise<Browser> => (browser ??= launchChromium())

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

/** What a look sees once it fits, or what it saw last when the time was up; asked anew every 50 ms. */
const lookedAt = async <T>(look: () => Promise<T>, fits: (seen: T) => boolean, ms: number): Promise<T> => {
  const end = Date.now() + ms
  for (;;) {
    const seen = await look()
    if (fits(seen) || Date.now() > end) return seen
    await setTimeout(50)
  }
}

/**
 * Waits until an expression is true in the page, asked anew each time: the browser lets a question pass the policy of the page, and refuses
 * what the page itself would have to ask again.
 */
export const becomesTrue = async (page: Page, expression: string): Promise<void> => {
  const isSo = await lookedAt(() => page.evaluate<unknown>(expression), Boolean, 30_000)
  if (!isSo) throw new Error(`not so after 30 s: ${expression}`)
}

/** Fails unless a look comes to give this, asked anew until it does. */
export const comesTo = async <T>(
  t: Test,
  look: () => Promise<T>,
  wanted: T,
  words = 'comes to that',
): Promise<void> => {
  t.strictSame(await lookedAt(look, (seen) => isDeepStrictEqual(seen, wanted), 20_000), wanted, words)
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
    ...WINDOW,
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

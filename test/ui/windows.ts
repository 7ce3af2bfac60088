import type { Browser, BrowserContext, Page } from 'playwright-core'
import { WINDOW } from './window.ts'

/** Window that tests reuse one after another; a new one takes three times the work of reloading a page. */
export type Window = { readonly page: Page; readonly context: BrowserContext }

const kept = new WeakMap<Browser, Window[]>()
const services = new WeakMap<BrowserContext, string>()

/** Absolute address of a path at the service of a page's window. */
export const addressAt = (page: Page, path: string): string => {
  const service = services.get(page.context())
  return service === undefined ? path : new URL(path, service).href
}

/** Sets the service of a window; relative paths resolve against it. */
export const pointAt = (context: BrowserContext, service: string): void => void services.set(context, service)

/** Opens a page whose `goto` resolves paths against the service of its window. */
export const pageOf = async (context: BrowserContext): Promise<Page> => {
  const page = await context.newPage()
  const goTo = page.goto.bind(page)
  page.goto = (path, options) => goTo(addressAt(page, path), options)
  return page
}

/**
 * Navigates a page to `about:blank`. The page does it itself, because a browser navigation ends the process and loses
 * compiled code.
 */
export const emptied = async (page: Page): Promise<void> => {
  await page.evaluate(`location.replace('about:blank')`)
  await page.waitForURL('about:blank')
}

/** Returns a reusable window, if there is one. */
export const keptWindow = (browser: Browser): Window | undefined => kept.get(browser)?.pop()

const LISTENED = ['request', 'requestfinished', 'requestfailed', 'response', 'console', 'pageerror', 'dialog'] as const

/** Resets a window. An installed clock stays. */
const cleared = async ({ page, context }: Window): Promise<boolean> => {
  for (const event of LISTENED) page.removeAllListeners(event)
  for (const other of context.pages()) if (other !== page) await other.close()
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await context.unrouteAll({ behavior: 'ignoreErrors' })
  const ownClock = await page.evaluate<boolean>(
    `localStorage.clear(), sessionStorage.clear(), String(Date).includes('[native code]')`,
  )
  await emptied(page)
  await context.clearCookies()
  await context.clearPermissions()
  await page.setViewportSize(WINDOW.viewport)
  return ownClock
}

/** Returns a window for reuse, or closes it if it cannot be reset. */
export const giveBack = async (browser: Browser, window: Window): Promise<void> => {
  const isClear = await cleared(window).catch(() => false)
  if (!isClear) return window.context.close()
  const others = kept.get(browser) ?? []
  kept.set(browser, [...others, window])
}

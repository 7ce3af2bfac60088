import type { Browser, BrowserContext, Page } from 'playwright-core'
import { WINDOW } from './window.ts'

/** A window that one test after the other has for itself; a new one takes three times the work of a page that is loaded anew. */
export type Window = { readonly page: Page; readonly context: BrowserContext }

const kept = new WeakMap<Browser, Window[]>()
const services = new WeakMap<BrowserContext, string>()

/** The whole address of a path at the service that the window of a page is on. */
export const addressAt = (page: Page, path: string): string => {
  const service = services.get(page.context())
  return service === undefined ? path : new URL(path, service).href
}

/** Points a window at a service: paths that its pages go to are paths there. */
export const pointAt = (context: BrowserContext, service: string): void => void services.set(context, service)

/** A page of a window that goes to paths at the service which the window is pointed at. */
export const pageOf = async (context: BrowserContext): Promise<Page> => {
  const page = await context.newPage()
  const goTo = page.goto.bind(page)
  page.goto = (path, options) => goTo(addressAt(page, path), options)
  return page
}

/** Leaves a page for an empty one. The page goes there by itself: where the browser is told to, it ends the process, and all that it has compiled is lost. */
export const emptied = async (page: Page): Promise<void> => {
  await page.evaluate(`location.replace('about:blank')`)
  await page.waitForURL('about:blank')
}

/** A window that was given back, if there is one. */
export const keptWindow = (browser: Browser): Window | undefined => kept.get(browser)?.pop()

const LISTENED = ['request', 'requestfinished', 'requestfailed', 'response', 'console', 'pageerror', 'dialog'] as const

/** Makes a window as good as new. A clock that was put into it stays in it. */
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

/** Gives a window back for the next test, or closes it where it cannot be made as good as new. */
export const giveBack = async (browser: Browser, window: Window): Promise<void> => {
  const isClear = await cleared(window).catch(() => false)
  if (!isClear) return window.context.close()
  const others = kept.get(browser) ?? []
  kept.set(browser, [...others, window])
}

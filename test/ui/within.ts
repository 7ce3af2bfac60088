import type { Page } from 'playwright-core'
import { settled } from './browser.ts'

const OVERLAY = '[role=dialog],[role=alertdialog],[role=menu],[role=listbox]'

/**
 * Navigates within the app to a page without content. Returns false if an overlay, or what is left of a broken page,
 * outlasts the navigation.
 */
export const leftWithin = async (page: Page): Promise<boolean> => {
  await page.evaluate("history.pushState({}, '', '/nowhere')")
  await settled(page)
  const isThere = await page.getByRole('heading', { name: 'No such page', level: 1 }).isVisible()
  return isThere && (await page.locator(OVERLAY).count()) === 0
}

/** Navigates within the app, which costs a third of a load. Loads the page if something outlasts the previous one. */
export const goWithin = async (page: Page, path: string): Promise<void> => {
  if (await leftWithin(page)) await page.evaluate(`history.pushState({}, '', ${JSON.stringify(path)})`)
  else await page.goto(path)
}

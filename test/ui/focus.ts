import type { Locator, Page } from 'playwright-core'
import { becomesTrue } from './browser.ts'

const hasFocus = async (page: Page, wanted: Locator): Promise<boolean> =>
  (await wanted.and(page.locator(':focus')).count()) > 0

/** Waits until the locator has the focus. */
export const focused = (page: Page, wanted: Locator): Promise<void> => wanted.and(page.locator(':focus')).waitFor()

/** Waits until the heading has the focus, which happens shortly after the page has rendered. */
export const headed = (page: Page, name: string | RegExp): Promise<void> =>
  focused(page, page.getByRole('heading', { name, level: 1 }))

const OPENED = '[role=dialog],[role=alertdialog],[role=menu]'
const HELD = `document.activeElement?.closest('${OPENED}') != null`

/** Waits until an open overlay, if any, has the focus. */
export const settledFocus = (page: Page): Promise<void> =>
  becomesTrue(page, `document.querySelector('${OPENED}') === null || ${HELD}`)

/** Waits until an overlay has the focus. Until then, a key reaches the overlay below. */
export const hasEntered = async (page: Page, opened: Locator): Promise<void> => {
  const focus = page.locator(':focus')
  await opened.and(focus).or(opened.locator(focus)).first().waitFor({ state: 'attached' })
}

/** Closes an overlay with Escape, once it has the focus and handles keys. */
export const closeByEscape = async (page: Page, opened: Locator): Promise<void> => {
  await hasEntered(page, opened)
  await page.keyboard.press('Escape')
  await opened.waitFor({ state: 'detached' })
}

/** Focus guards at the ends of a dialog forward the focus, so the focus is not settled while one has it. */
const SETTLED = "!document.activeElement?.hasAttribute('data-base-ui-focus-guard')"

/**
 * Browser script: the focused element if its focus is not visible: no ring of 2 px on it or its parent, or it is
 * covered.
 */
const UNSEEN = `(() => {
  const { activeElement: held, body } = document
  if (held === body) return ''
  const ringed = [held, held.parentElement].some((one) => {
    const { outlineStyle, outlineWidth } = getComputedStyle(one)
    return outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 2
  })
  const { left, top, width, height } = held.getBoundingClientRect()
  const above = document.elementFromPoint(left + width / 2, top + height / 2)
  const covered = above !== null && !held.contains(above) && !above.contains(held)
  return ringed && !covered ? '' : (ringed ? 'covered: ' : 'no ring: ') + held.outerHTML.slice(0, 200)
})()`

/** Presses Tab until the locator has the focus; each stop on the way must be visible. */
export const tabOnto = async (page: Page, wanted: Locator): Promise<Locator> => {
  await wanted.waitFor()
  await settledFocus(page)
  for (let step = 0; step < 60; step++) {
    if (await hasFocus(page, wanted)) return wanted
    await page.keyboard.press('Tab')
    await becomesTrue(page, SETTLED)
    const unseen = await page.evaluate<string>(UNSEEN)
    if (unseen !== '') throw new Error(unseen)
  }
  throw new Error(`no Tab leads to ${String(wanted)}`)
}

/** Presses Tab until the control of a name has the focus. */
export const tabTo = (page: Page, name: string | RegExp, role: Parameters<Page['getByRole']>[0]): Promise<Locator> =>
  tabOnto(page, page.getByRole(role, { name }).first())

import type { Locator, Page } from 'playwright-core'
import { becomesTrue } from './browser.ts'

const hasFocus = async (page: Page, wanted: Locator): Promise<boolean> =>
  (await wanted.and(page.locator(':focus')).count()) > 0

/** Waits until this has the focus. */
export const focused = (page: Page, wanted: Locator): Promise<void> => wanted.and(page.locator(':focus')).waitFor()

/** Waits until the page of this heading has given it the focus, which a page does a moment after it is drawn. */
export const headed = (page: Page, name: string | RegExp): Promise<void> =>
  focused(page, page.getByRole('heading', { name, level: 1 }))

const OPENED = '[role=dialog],[role=alertdialog],[role=menu]'
const HELD = `document.activeElement?.closest('${OPENED}') != null`

/** Waits until what is open has the focus, if anything is. */
export const settledFocus = (page: Page): Promise<void> =>
  becomesTrue(page, `document.querySelector('${OPENED}') === null || ${HELD}`)

/** Closes by Escape what is open; the key is pressed once the focus is in it, which is when it listens. */
export const closeByEscape = async (page: Page, opened: Locator): Promise<void> => {
  await opened.waitFor()
  await becomesTrue(page, HELD)
  await page.keyboard.press('Escape')
  await opened.waitFor({ state: 'detached' })
}

/** The guards at the ends of a dialog pass the focus on at once; while one has it, it is on its way. */
const SETTLED = "!document.activeElement?.hasAttribute('data-base-ui-focus-guard')"

/** What has the focus without showing it: no ring of 2 px on it or on what draws it, or something above it. */
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

/** Goes on by Tab until this has the focus, once it is there; each stop on the way must be seen. */
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

/** The same, for the control of that name. */
export const tabTo = (page: Page, name: string | RegExp, role: Parameters<Page['getByRole']>[0]): Promise<Locator> =>
  tabOnto(page, page.getByRole(role, { name }).first())

import type { Page } from 'playwright-core'

/** Browser script: elements that overflow the window horizontally. */
const SIDEWAYS = `(() => {
  const root = document.scrollingElement
  if (root.scrollWidth <= innerWidth) return []
  const out = [...document.body.querySelectorAll('*')].filter((part) => {
    const { left, right, width } = part.getBoundingClientRect()
    return width > 0 && (right > innerWidth + 0.5 || left < -0.5) && !part.closest('[class*=visually-hidden]')
  })
  return [root.scrollWidth + ' px in ' + innerWidth, ...out.slice(0, 8).map((part) => part.outerHTML.slice(0, 120))]
})()`

/** Browser script: horizontal scrollers without keyboard access or name. */
const UNREACHED = `[...document.body.querySelectorAll('*')].filter((part) => {
  const style = getComputedStyle(part)
  if (!/auto|scroll/.test(style.overflowX) || part.scrollWidth <= part.clientWidth + 1 || part.clientWidth === 0) return false
  if (part.matches('input, textarea, select, [role=listbox]')) return false
  const named = part.hasAttribute('aria-label') || part.hasAttribute('aria-labelledby')
  return part.tabIndex < 0 || !named
}).map((part) => part.outerHTML.slice(0, 160))`

/** Browser script: controls smaller than 24 × 24 px, except links in text. */
const SMALL = `[...document.body.querySelectorAll('a[href], button, input, select, textarea, summary, [role=switch], [role=option], [role=menuitem], [role=tab]')]
  .filter((part) => part.checkVisibility({ visibilityProperty: true }) && !part.closest('[aria-hidden=true], [inert]'))
  .filter((part) => {
    if (part.matches('a') && getComputedStyle(part).display === 'inline') return false
    const { clipPath, position } = getComputedStyle(part)
    if (position === 'absolute' && /inset\\(50%\\)/.test(clipPath)) return false
    const place = (part.matches('[type=radio], [type=checkbox]') && part.closest('label')) || part
    const { width, height } = place.getBoundingClientRect()
    return width > 0 && (width < 23.99 || height < 23.99) && part.tabIndex >= 0
  })
  .map((part) => { const { width, height } = part.getBoundingClientRect(); return width + ' × ' + height + ': ' + part.outerHTML.slice(0, 120) })`

/** Waits for layout after a change of window or text size. */
const laidOut = (page: Page) =>
  page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')

/** Returns horizontal overflow, unreachable scrollers and small controls. */
export const layoutFlaws = async (page: Page): Promise<readonly string[]> => {
  // Within the same frame the old widths would be measured.
  await laidOut(page)
  const { sideways, unreached, small } = await page.evaluate<
    Readonly<Record<'sideways' | 'unreached' | 'small', readonly string[]>>
  >(`({ sideways: ${SIDEWAYS}, unreached: ${UNREACHED}, small: ${SMALL} })`)
  return [
    ...sideways.map((what) => `sideways: ${what}`),
    ...unreached.map((what) => `scrolls unreached: ${what}`),
    ...small.map((what) => `small: ${what}`),
  ]
}

/** Returns the layout flaws with texts at twice their size. */
export const flawsOfLargeText = async (page: Page): Promise<readonly string[]> => {
  await page.evaluate(`document.documentElement.style.fontSize = '200%'`)
  const flaws = await layoutFlaws(page)
  await page.evaluate(`document.documentElement.style.fontSize = ''`)
  return flaws
}

import type { Locator, Page } from 'playwright-core'
import type { Test } from 'tap'

/**
 * Fate of a write: an error status, no answer before (`dropped`) or after (`lost`) the effect, or a delay before the
 * real answer.
 */
export type Fate = number | 'dropped' | 'lost' | (() => Promise<unknown>)
const SILENCE_MS = 10_000

/** Promise that resolves when it is opened. */
export const gate = () => {
  let open: () => void = () => undefined
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { opened, open: () => open() }
}

/** Applies the fates to the writes of an address in order, then none. `told` receives the headers of each. */
export const withFates = async (
  page: Page,
  address: string,
  fates: readonly Fate[],
  told: (headers: Readonly<Record<string, string>>) => void = () => undefined,
): Promise<void> => {
  const left = [...fates]
  await page.route(address, async (route) => {
    if (route.request().method() === 'GET') return route.fallback()
    told(route.request().headers())
    const fate = left.shift()
    if (typeof fate === 'number') return route.fulfill({ status: fate, json: { code: 2, message: `no: ${fate}` } })
    if (fate === 'dropped') return route.abort()
    if (fate === 'lost') {
      await route.fetch()
      return route.abort()
    }
    await fate?.()
    return route.fallback()
  })
}

/**
 * Clicks the button of a write while the service is silent for ten seconds: the page shows progress, and a second click
 * does nothing.
 */
export const sentInSilence = async (t: Test, page: Page, address: string, submit: Locator, busy: Locator) => {
  let sent = 0
  const silence = gate()
  await page.clock.install()
  await withFates(page, address, [() => silence.opened], () => sent++)
  await submit.click()
  await busy.waitFor()
  t.equal(await busy.getAttribute('aria-disabled'), 'true')
  await busy.click({ force: true })
  await page.clock.runFor(SILENCE_MS)
  t.equal(await busy.getAttribute('aria-disabled'), 'true', 'after ten seconds as well')
  silence.open()
  await busy.waitFor({ state: 'detached' })
  t.equal(sent, 1, 'it was sent once')
}

import type { Locator, Page } from 'playwright-core'

export const hasFocus = async (page: Page, wanted: Locator): Promise<boolean> =>
  (await wanted.and(page.locator(':focus')).count()) > 0

/** Goes on by Tab until the control of that name has the focus, which can be seen. */
export const tabTo = async (page: Page, name: string | RegExp, role: Parameters<Page['getByRole']>[0]) => {
  const wanted = page.getByRole(role, { name }).first()
  for (let step = 0; step < 60; step++) {
    if (await hasFocus(page, wanted)) return wanted
    await page.keyboard.press('Tab')
  }
  throw new Error(`no Tab leads to ${role} ${String(name)}`)
}

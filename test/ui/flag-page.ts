import type { Locator, Page } from 'playwright-core'
import type { Test } from 'tap'
import { type OpenOptions, withSession } from './browser.ts'

export const N = '/api/v1/namespaces/default'
export const path = '/ns/default/flags/f'

export type Variant = { readonly id: string; readonly key: string; readonly name: string; readonly attachment: string }
export type Flag = {
  readonly variants: readonly Variant[]
  readonly defaultVariant?: Variant
  readonly enabled: boolean
}
export type Rule = {
  readonly id: string
  readonly segmentKey: string
  readonly segmentKeys: readonly string[]
  readonly distributions: readonly { readonly variantId: string; readonly rollout: number }[]
}

/** Opens the page of the flag `f` after these changes; segments `beta` and `staff` exist. */
export const withVariantFlag = async (t: Test, changes: readonly object[] = [], options: OpenOptions = {}) => {
  const { service, page, ...rest } = await withSession(t, {}, options)
  await service.request('POST', `${N}/flags`, { key: 'f', name: 'Flag f', type: 'VARIANT_FLAG_TYPE' })
  for (const key of ['beta', 'staff']) await service.request('POST', `${N}/segments`, { key, name: key })
  const change = (...more: readonly object[]) =>
    service.request<{ refs: Readonly<Record<string, string>> }>('POST', `${N}/flags/f/changes`, { changes: more })
  const refs = changes.length === 0 ? {} : (await change(...changes)).json.refs
  await page.goto(path)
  await page.getByRole('tab', { name: 'Targeting' }).waitFor()
  const flag = async () => (await service.request<Flag>('GET', `${N}/flags/f`)).json
  const rules = async () => (await service.request<{ rules: Rule[] }>('GET', `${N}/flags/f/rules`)).json.rules
  return { service, page, flag, rules, change, refs, ...rest }
}

export const button = (part: Page | Locator, name: string) => part.getByRole('button', { name, exact: true })
export const field = (part: Page | Locator, name: string) => part.getByRole('textbox', { name, exact: true })
export const review = (page: Page) => page.getByRole('dialog', { name: 'Review changes' })
export const openReview = async (page: Page) => {
  await button(page, 'Review changes').click()
  await review(page).waitFor()
}
export const save = (page: Page) => review(page).getByRole('button', { name: 'Save changes' }).click()
export const said = (page: Page, words: string) => page.getByRole('status').getByText(words).waitFor()
export const pending = (page: Page) => page.getByRole('region', { name: 'Pending changes' })

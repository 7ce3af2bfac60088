import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import { maker } from '../http/flags.ts'
import { settled, withSession } from './browser.ts'
import { N } from './flag-page.ts'
import { tokenNamed } from './ways.ts'

/** Starts a service whose data has changed since the position `at`, and a browser that must not write. */
export const withPast = async (t: Test) => {
  const { page, service } = await withSession(t)
  const make = maker(service)
  await make.segment('beta', [{ property: 'plan', operator: 'eq', value: 'pro' }])
  await make.boolean('checkout')
  await make.bySegment('checkout', { segmentKeys: ['beta'] })
  await make.threshold('checkout', 25)
  await make.variantFlag('ranking')
  const red = await make.variant('ranking', 'red', '{"a":1}')
  await make.rule('ranking', { segmentKey: 'beta' }, { [red]: 100 })
  const token = await tokenNamed(service, 'ci-prod')
  const { headers } = await service.request('POST', '/auth/v1/method/token', { name: 'ci-test' })
  const at = String(headers['event-position'])

  const { json } = await service.request<{ rollouts: { id: string }[] }>('GET', `${N}/flags/checkout/rollouts`)
  for (const { id } of json.rollouts) await service.request('DELETE', `${N}/flags/checkout/rollouts/${id}`)
  await service.request('PUT', `${N}/flags/checkout`, { name: 'Renamed', enabled: true })
  await service.request('DELETE', `${N}/flags/ranking`)
  await make.boolean('later')
  await service.request('PUT', `${N}/segments/beta`, { name: 'Renamed' })
  await service.request('POST', `${N}/segments/beta/constraints`, {
    type: 'STRING_COMPARISON_TYPE',
    property: 'late',
    operator: 'eq',
    value: 'x',
  })
  await make.segment('later')
  await service.request('DELETE', `/auth/v1/tokens/${token.id}`)
  await tokenNamed(service, 'later')

  page.on('request', (request) => {
    const reads = request.method() === 'GET' || new URL(request.url()).pathname.startsWith('/evaluate/')
    if (!reads) t.fail(`written in the past: ${request.method()} ${request.url()}`)
  })
  const asOf = async <T>(path: string) =>
    (await service.request<T>('GET', `${path}${path.includes('?') ? '&' : '?'}at=${at}`)).json
  const open = async (path: string, heading: string | RegExp) => {
    await page.goto(`${path}${path.includes('?') ? '&' : '?'}at=${at}`)
    await page.getByRole('heading', { name: heading, level: 1 }).waitFor()
    await page.getByRole('region', { name: 'Past' }).getByText(`(#${at}). Nothing can be changed here.`).waitFor()
  }
  return { page, service, at, asOf, open, token }
}

/** Browser script: labels of the enabled controls of the page, without links. */
const USABLE = `[...document.querySelectorAll('main :is(button, input, select, textarea, [role=switch], [role=slider])')]
  .filter((one) => one.getAttribute('aria-disabled') !== 'true' && !one.disabled && one.checkVisibility() && one.ariaHidden !== 'true')
  .map((one) => one.getAttribute('aria-label') ?? one.labels?.[0]?.textContent ?? one.textContent)`
/** Browser script: disabled controls that are tab stops. */
const WRONGLY_DISABLED = `[...document.querySelectorAll('main [aria-disabled=true]')]
  .filter((one) => one.tabIndex !== -1)
  .map((one) => one.outerHTML.slice(0, 200))`
const LINKS = `[...document.querySelectorAll('a[href]')].map(({ href }) => href).filter((href) => !href.endsWith('#content'))`

/** Expects a read-only page: only `usable` controls are enabled, keys do nothing, and every link keeps the moment. */
export const readsAlone = async (t: Test, page: Page, at: string, usable: readonly string[]) => {
  const { pathname } = new URL(page.url())
  t.strictSame(await page.evaluate<string[]>(USABLE), usable, `${pathname}: what can be used`)
  t.strictSame(await page.evaluate<string[]>(WRONGLY_DISABLED), [], `${pathname}: what cannot`)
  for (const link of await page.evaluate<string[]>(LINKS))
    t.equal(new URL(link).searchParams.get('at'), at, `${pathname}: ${link}`)
  const before = page.url()
  for (const key of ['n', 'e', 'Control+Enter']) await page.keyboard.press(key)
  await settled(page)
  t.equal(page.url(), before)
  t.equal(await page.getByRole('dialog').count(), 0)
}

export const cells = (page: Page, table: string) => page.getByRole('table', { name: table }).getByRole('rowheader')

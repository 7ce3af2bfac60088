import type { Page } from 'playwright-core'
import t from 'tap'
import { maker } from '../http/flags.ts'
import { openBrowser, signIn, skip } from './browser.ts'
import { startService } from './service.ts'

const N = '/api/v1/namespaces/default'
const usage = (lastEvaluatedAt?: string, snapshotFetchedAt?: string) => ({ lastEvaluatedAt, snapshotFetchedAt })
const ago = (hours: number) => new Date(Date.now() + hours * -3_600_000).toISOString()

/** Opens the question before the deletion of the flag on the page. */
const asksToDelete = async (page: Page) => {
  await page.getByRole('button', { name: 'Delete flag' }).click()
  return page.getByRole('alertdialog', { name: /Delete flag/ })
}

await t.test('lists of flags and the question before a deletion show the last evaluation', { skip }, async (t) => {
  let offset = -31 * 86_400_000
  const service = await startService(t, { 'rate_limit.enabled': 'false' }, { now: () => new Date(Date.now() + offset) })
  const make = maker(service)
  for (const key of ['asked', 'unasked']) await make.boolean(key)
  offset = 0
  await make.boolean('young')
  const { page } = await openBrowser(t, service, { forced: [503] })
  await signIn(page, service.token)
  const { status } = await service.request('POST', '/evaluate/v1/boolean', { flagKey: 'asked', entityId: 'e' })
  t.equal(status, 200)
  await page.goto('/ns/default/flags')
  const row = (key: string) => page.getByRole('table', { name: 'Flags' }).getByRole('row').filter({ hasText: key })

  await t.test('the list has a column, an order and a filter', async (t) => {
    await row('unasked').getByText('Not known').waitFor()
    const hour = await row('asked')
      .filter({ hasNotText: 'unasked' })
      .locator('td:nth-child(5) time')
      .getAttribute('datetime')
    t.match(hour, /:00:00.000Z$/)
    await page.getByRole('columnheader', { name: 'Last asked' }).getByRole('button').click()
    await page.getByRole('columnheader', { name: 'Last asked' }).getByRole('button').click()
    await page.getByRole('rowheader').first().getByRole('link', { name: 'asked', exact: true }).waitFor()
    const filter = page.getByRole('combobox', { name: 'Last asked' })
    await filter.selectOption('Not asked or fetched for 30 days')
    await page.getByRole('heading', { name: 'Flags 1', level: 1 }).waitFor()
    await row('unasked').waitFor()
    await filter.selectOption('Asked in the last 30 days')
    await page.getByRole('rowheader').getByRole('link', { name: 'asked', exact: true }).waitFor()
    t.match(page.url(), /asked=recently/)
    await page.goto(`/ns/default/flags?asked=not&at=${encodeURIComponent(new Date().toISOString())}`)
    await page.getByRole('heading', { name: 'Flags 3', level: 1 }).waitFor()
    t.equal(await page.getByRole('combobox', { name: 'Last asked' }).count(), 0, 'a past moment has only some hours')
  })

  await t.test('the flag page and the deletion dialog state when the flag was last evaluated', async (t) => {
    await page.goto('/ns/default/flags/asked?tab=about')
    await page.getByText(/^Last asked (within this hour|1 hour ago)\.$/).waitFor()
    let answer: object | undefined
    await page.route(`**${N}/flags/unasked?include=usage`, (route) =>
      answer ? route.fulfill({ json: answer }) : route.fulfill({ status: 503, json: { code: 14, message: 'not now' } }),
    )
    // The page knows the time of the service to one second, so no time here is a whole number of hours ago.
    for (const [given, sentence] of [
      [usage(), 'Not asked here.'],
      [usage(undefined, ago(0.01)), 'Not asked here. Engines fetched this namespace within this hour.'],
      [usage(ago(30.5), ago(3.5)), 'Last asked 1 day ago. Engines fetched this namespace 3 hours ago.'],
      [undefined, 'Not known when it was last asked.'],
    ] as const) {
      answer = given
      await page.goto('/ns/default/flags/unasked?tab=about')
      const dialog = await asksToDelete(page)
      await dialog.getByText(sentence, { exact: true }).waitFor()
      t.pass(sentence)
    }
  })

  await t.test('the list of namespaces and a deletion show when engines last fetched each', async () => {
    await service.request('POST', '/api/v1/namespaces', { key: 'shop', name: 'Shop' })
    const fetch = (key: string) => service.request('GET', `/internal/v1/evaluation/snapshot/namespace/${key}`)
    await page.goto('/settings/namespaces')
    const cells = page.getByRole('table', { name: 'Namespaces' }).getByRole('row').filter({ hasText: 'Default' })
    await cells.getByText('Not known').waitFor()
    await Promise.all([fetch('default'), fetch('shop')])
    await page.reload()
    await page.getByRole('columnheader', { name: 'Fetched by engines' }).waitFor()
    await cells.getByText('today').or(cells.getByText('hour ago')).first().waitFor()
    await page.getByRole('button', { name: 'Delete Shop' }).click()
    await page.getByRole('alertdialog').getByText('Engines last fetched it').waitFor()
  })
})

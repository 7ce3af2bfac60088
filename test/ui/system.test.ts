import t from 'tap'
import { maker } from '../http/flags.ts'
import { comesTo, skip, withSession } from './browser.ts'
import { tokenNamed } from './ways.ts'

await t.test('the page System shows figures, each with a link to its events', { skip }, async (t) => {
  const { page, service } = await withSession(t, {}, { forced: [401, 503] })
  await maker(service).boolean('a')
  const soon = new Date(Date.now() + 86_400_000).toISOString()
  await tokenNamed(service, 'ends-soon', { expiresAt: soon })
  await tokenNamed(service, 'ends-never')
  await page.route('**/readyz?verbose', (route) => route.fulfill({ status: 503, json: { status: 'not_ready' } }))
  await page.goto('/system')
  await page.getByRole('heading', { name: 'System', level: 1 }).waitFor()
  await page.getByRole('alert').getByText('The checks could not be loaded').waitFor()
  await page.unroute('**/readyz?verbose')
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByText('freshness').waitFor()
  const ending = page.getByRole('list', { name: 'Tokens that end within 7 days' })
  await comesTo(t, () => ending.getByRole('link').allInnerTexts(), ['ends-soon'])

  type Rows = { readonly rows: readonly { readonly tokensIssued: number }[] }
  const { json } = await service.request<Rows>('GET', '/audit/v1/stats')
  const issued = json.rows[0]!.tokensIssued
  const link = page.getByRole('link', { name: `${issued} · Tokens issued in the history` })
  await link.click()
  await page.waitForURL(/\/history\?type=TokenIssued/)
  const rows = page.getByRole('list', { name: 'Events' }).getByRole('listitem')
  await comesTo(t, () => rows.count(), issued, 'the history has the same number')
})

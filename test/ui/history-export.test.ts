import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import t from 'tap'
import { systemClock } from '../../src/base/clock.ts'
import { maker } from '../http/flags.ts'
import type { Started } from '../start.ts'
import { eventually } from '../wait.ts'
import { comesTo, openBrowser, skip, withSession } from './browser.ts'
import { beginSession } from './chromium.ts'
import { button, N } from './flag-page.ts'
import { startService } from './service.ts'

const exporter = (page: Page) => page.getByRole('button', { name: /^Export \d/ })
const numberOn = async (page: Page): Promise<number> =>
  Number(/[\d,]+/.exec(await exporter(page).innerText())![0].replaceAll(',', ''))

/** Downloads the events of the page in a format. Returns the lines of the file. */
const download = async (page: Page, format: string, isOpen = false): Promise<readonly string[]> => {
  await exporter(page).click()
  const dialog = page.getByRole('dialog', { name: 'Export events' })
  await dialog.getByRole('radio', { name: format, exact: true }).check()
  if (isOpen) await dialog.getByRole('radio', { name: 'Open', exact: true }).check()
  await dialog.getByText('Exporting is recorded with your name.').waitFor()
  const [file] = await Promise.all([page.waitForEvent('download'), button(dialog, 'Download').click()])
  await dialog.waitFor({ state: 'detached' })
  return (await readFile(await file.path(), 'utf8')).trimEnd().split('\n')
}

type Exports = { readonly events: readonly { readonly data: Record<string, unknown> }[] }
const exportsOf = async (service: Started) =>
  (await service.request<Exports>('GET', '/audit/v1/events?type=HistoryExported')).json.events.map(({ data }) => data)

await t.test('an export has the number of events on its button, and is recorded', { skip }, async (t) => {
  const { page, service } = await withSession(t)
  const changes = Array.from({ length: 200 }, (_, n) => ({ op: 'variant.create', key: `v${n}` }))
  for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) {
    await maker(service).variantFlag(key)
    t.equal((await service.request('POST', `${N}/flags/${key}/changes`, { changes })).status, 200)
  }
  await page.goto('/history?type=VariantAdded,FlagCreated&live=off')
  await exporter(page).waitFor()
  // Later events are not part of the export.
  await maker(service).variantFlag('later')
  const number = await numberOn(page)
  t.equal(number, 1206)
  const lines = await download(page, 'NDJSON')
  t.equal(lines.length, number, 'lines of NDJSON')
  t.strictSame([...new Set(lines.map((line) => (JSON.parse(line) as { type: string }).type))].toSorted(), [
    'FlagCreated',
    'VariantAdded',
  ])
  t.equal((await download(page, 'CSV')).length, number + 1, 'lines of CSV, with the head')
  const recorded = await exportsOf(service)
  t.match(
    recorded.map(({ format, filter, personal }) => ({ format, filter, personal })),
    [
      { format: 'ndjson', filter: { type: 'VariantAdded,FlagCreated' }, personal: false },
      { format: 'csv', filter: { type: 'VariantAdded,FlagCreated' }, personal: false },
    ],
  )

  await exporter(page).click()
  const dialog = page.getByRole('dialog', { name: 'Export events' })
  await dialog.getByRole('radio', { name: 'CloudEvents' }).check()
  t.equal(await dialog.getByRole('radio', { name: 'Open', exact: true }).count(), 0, 'no open form of CloudEvents')
  await button(dialog, 'Download').click()
  await dialog.getByRole('alert').getByText('These events need several pages of CloudEvents.').waitFor()
  const command = await dialog.getByRole('group', { name: 'rollcall command' }).innerText()
  t.match(
    command,
    /^rollcall events export --address=\S+ '?--type=VariantAdded,FlagCreated'? --before=\d+ --format=cloudevents -- /,
  )
  await page.keyboard.press('Escape')

  await page.goto('/history?type=FlagCreated&live=off')
  await comesTo(t, () => numberOn(page), 7)
  const events = JSON.parse((await download(page, 'CloudEvents')).join('\n')) as readonly unknown[]
  t.equal(events.length, 7, 'CloudEvents of one page')
  t.equal((await download(page, 'NDJSON', true)).length, 7)
  t.match((await exportsOf(service)).at(-1), { format: 'ndjson', filter: { type: 'FlagCreated' }, personal: true })
})

type Histogram = { readonly buckets: readonly { readonly count: number }[]; readonly total: number }

await t.test('the density shows events and refusals, and a part of it can be chosen', { skip }, async (t) => {
  let behind = 7_200_000
  const now = () => new Date(systemClock.now().getTime() - behind)
  const service = await startService(t, { 'rate_limit.enabled': 'false' }, { now })
  const { page } = await openBrowser(t, service)
  await maker(service).boolean('a')
  behind = 0
  await maker(service).boolean('b')
  await beginSession(page)
  const { json } = await service.request<{ clientToken: string }>('POST', '/auth/v1/method/token', {
    name: 'of one namespace',
    namespaceKey: 'default',
  })
  const authorization = `Bearer ${json.clientToken}`
  t.equal((await service.request('GET', '/auth/v1/tokens', undefined, { authorization })).status, 403)
  await eventually(async () => {
    const { json } = await service.request<Histogram>('GET', '/audit/v1/histogram?outcome=failed,denied')
    return json.total > 0
  }, 'refusals')
  await page.goto('/history?live=off')
  const density = page.getByRole('group', { name: 'Density' })
  const table = density.getByRole('table', { name: 'Events by time' })
  await button(density, 'Show as table').click()
  const sums = async () =>
    (await table.getByRole('row').allInnerTexts())
      .slice(1)
      .map((text) => text.split(/\s+/).slice(-2).map(Number))
      .reduce(([all = 0, refused = 0], [one = 0, other = 0]) => [all + one, refused + other], [0, 0])
  const [all, refused] = await sums()
  t.equal(all, await numberOn(page), 'the bars have all events')
  t.ok(refused! > 0, 'and the refusals')

  const { x, y, width, height } = (await density.locator('svg').boundingBox())!
  await page.mouse.move(x + width * 0.3, y + height / 2)
  await page.mouse.down()
  await page.mouse.move(x + width * 0.6, y + height / 2)
  await page.mouse.up()
  await page.waitForURL(/[?&]from=.*&to=/)
  const chosen = new URL(page.url()).searchParams
  const length = Date.parse(chosen.get('to')!) - Date.parse(chosen.get('from')!)
  // The bars under the ends of the drag count as a whole; a bar has one minute or five.
  t.ok(length >= 2_100_000 && length <= 2_700_000, `three tenths of two hours: ${length / 60_000} minutes`)

  const end = density.getByRole('slider', { name: 'End of the range' })
  await end.focus()
  await page.keyboard.press('Home')
  t.equal(await end.inputValue(), '1', 'the end stays behind the begin')
  const shown = await density.getByRole('button', { name: /^Show \d/ }).innerText()
  t.ok(shown.endsWith(`– ${await end.getAttribute('aria-valuetext')}`), shown)
  await page.keyboard.press('Enter')
  await page.waitForURL((url) => url.searchParams.get('to') !== chosen.get('to'))
  t.equal(new URL(page.url()).searchParams.get('from'), chosen.get('from'), 'an edge that was not moved stays')
})

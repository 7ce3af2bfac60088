import type { Page } from 'playwright-core'
import t from 'tap'
import { onStoppedLog, seedFlags } from '../http/seed-flags.ts'
import { restOf, signedIn, skip } from './browser.ts'

const N = '/api/v1/namespaces/default'
const FLAGS = 2000
const nameOf = (n: number) => `Flag ${String(n).padStart(4, '0')}`
type List = { readonly totalCount: number; readonly flags: readonly { readonly name: string }[] }

const API = /^\/(api|auth|audit|evaluate)\//

/** Returns a function that performs a step and returns its API requests. */
const stepper = (page: Page) => {
  let asked: string[] = []
  const rest = restOf(page)
  page.on('request', (request) => {
    const { pathname, search } = new URL(request.url())
    if (API.test(pathname)) asked.push(pathname + search)
  })
  return async (step: () => Promise<unknown>): Promise<readonly string[]> => {
    asked = []
    await step()
    // Run timers, so that delayed requests happen now.
    await page.clock.runFor(1000)
    await rest()
    return asked
  }
}

await t.test('the UI finds a flag among 2,000 with at most two requests for each step', { skip }, async (t) => {
  const { page, service } = await signedIn(t, '/', {}, { clock: true })
  await page.getByRole('heading', { name: 'No flags yet' }).waitFor()
  await page.goto('about:blank')
  const fields = (n: number) =>
    ({ name: nameOf(n), enabled: n % 3 === 0, type: n % 4 === 0 ? 'variant' : 'boolean' }) as const
  await service.reopen(() => onStoppedLog(t, service, (log) => seedFlags(log, 'default', FLAGS, fields)))

  const step = stepper(page)
  const names = page.getByRole('table', { name: 'Flags' }).getByRole('rowheader').getByRole('link')
  const search = page.getByRole('searchbox', { name: 'Search flags' })
  const address = () => Object.fromEntries(new URL(page.url()).searchParams)
  /** Expects the page to show the answer of a query after a step, and its address to match. */
  const shows = async (words: string, act: () => Promise<unknown>, query: string, held: object) => {
    const { json } = await service.request<List>('GET', `${N}/flags?limit=50&${query}`)
    const asked = await step(async () => {
      await act()
      await names.first().getByText(json.flags[0]!.name, { exact: true }).waitFor()
      const heading = `Flags ${new Intl.NumberFormat('en').format(json.totalCount)}`
      await page.getByRole('heading', { name: heading, level: 1 }).waitFor()
    })
    // Opening a page also requests the rights of the user and the state of the ledger.
    const data = asked.filter((path) => path !== '/auth/v1/access' && path !== '/audit/v1/ledger')
    t.ok(data.length <= 2, `${words}: ${asked.join(' ')}`)
    t.strictSame(
      await names.allTextContents(),
      json.flags.map(({ name }) => name),
      words,
    )
    t.match(address(), held, words)
    return json
  }

  const all = await shows('opened again', () => page.goto('/ns/default/flags'), 'sort=name', {})
  t.equal(all.totalCount, FLAGS)
  await shows('searched', () => search.fill('lag 1'), 'sort=name&q=lag+1', { q: 'lag 1' })
  await shows(
    'of a type',
    () => page.getByRole('combobox', { name: 'Type' }).selectOption('Variant'),
    'sort=name&q=lag+1&type=VARIANT_FLAG_TYPE',
    { q: 'lag 1', type: 'VARIANT_FLAG_TYPE' },
  )
  const filter = 'q=lag+1&type=VARIANT_FLAG_TYPE&enabled=false'
  const held = { q: 'lag 1', type: 'VARIANT_FLAG_TYPE', state: 'false' }
  await shows(
    'in a state',
    () => page.getByRole('combobox', { name: 'State' }).selectOption('Off or default false'),
    `sort=name&${filter}`,
    held,
  )
  const sorted = `sort=name&order=desc&${filter}`
  const first = await shows(
    'sorted the other way',
    () => page.getByRole('columnheader', { name: 'Flag' }).getByRole('button').click(),
    sorted,
    { ...held, sort: '-name' },
  )
  t.equal(first.flags.length, 50)
  const { nextPageToken } = (await service.request<{ nextPageToken: string }>('GET', `${N}/flags?limit=50&${sorted}`))
    .json
  const second = `${sorted}&pageToken=${encodeURIComponent(nextPageToken)}`
  const onSecond = { ...held, sort: '-name', page: nextPageToken }
  const pages = page.getByRole('navigation', { name: 'Pages' })
  await shows('the next page', () => pages.getByRole('button', { name: 'Next page' }).click(), second, onSecond)
  await shows('reloaded', () => page.reload(), second, onSecond)
  await shows('the page before', () => pages.getByRole('button', { name: 'Previous page' }).click(), sorted, {
    ...held,
    sort: '-name',
  })
  t.notOk('page' in address())
  await shows('back', () => page.goBack(), second, onSecond)
  await shows('opened elsewhere', () => page.goto(page.url()), second, onSecond)

  const missed = await step(async () => {
    await search.fill('nothing is called so')
    await page.getByRole('heading', { name: 'No flags match', level: 2 }).waitFor()
  })
  t.ok(missed.length <= 2, missed.join(' '))
  t.equal(await page.getByRole('heading', { name: 'No flags yet' }).count(), 0)
  await shows('cleared', () => page.getByRole('button', { name: 'Clear search' }).click(), 'sort=name&order=desc', {
    sort: '-name',
  })
  t.strictSame(address(), { sort: '-name' })
  await search.fill('flag-1234')
  await names.getByText(nameOf(1234), { exact: true }).click()
  await page.getByRole('heading', { name: nameOf(1234), level: 1 }).waitFor()
  await page.goBack()
  await names.getByText(nameOf(1234), { exact: true }).waitFor()
  t.match(address(), { q: 'flag-1234', sort: '-name' })
})

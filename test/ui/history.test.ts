import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { knownNames, QUIET_EVENTS } from '../../src/history/event-names.ts'
import { granted } from '../http/granted.ts'
import { comesTo, openBrowser, openTab, signIn, skip } from './browser.ts'
import { button, N } from './flag-page.ts'
import { eventsOf, positionsShown, withHistory } from './history-world.ts'
import { goWithin } from './within.ts'

const ui = resolve(import.meta.dirname, '../../../ui/src')
const namesIn = (file: string, after: string): readonly string[] => {
  const text = readFileSync(resolve(ui, file), 'utf8')
  const begin = text.indexOf('[', text.indexOf(after) + after.length)
  return [...text.slice(begin, text.indexOf(']', begin)).matchAll(/'(\w+)'/g)].map(([, name]) => name!)
}

await t.test('the UI knows the values of filters and the quiet events that the service knows', (t) => {
  const values = 'pages/history/known-values.ts'
  t.strictSame(new Set(namesIn(values, 'type: ')), knownNames.types)
  t.strictSame(new Set(namesIn(values, 'category: ')), knownNames.categories)
  t.strictSame(namesIn(values, 'method: '), knownNames.methods)
  t.strictSame(namesIn('parts/timeline/folding.ts', 'QUIET_EVENTS: readonly string[] ='), QUIET_EVENTS)
  t.end()
})

const search = (page: Page) => page.getByRole('searchbox', { name: 'Search history' })
const chips = (page: Page) => page.getByRole('list', { name: 'Filters' }).getByRole('listitem')
const queryOf = (page: Page) => Object.fromEntries(new URL(page.url()).searchParams)

/** Filters: the text of the search field, and the query of the address. */
const filters: readonly (readonly [text: string, query: Readonly<Record<string, string>>])[] = [
  ['type:Flag* -type:FlagRegistered', { type: 'Flag*,!FlagRegistered' }],
  ['category:refusal outcome:denied', { category: 'refusal', outcome: 'denied' }],
  ['stream:flag-default*', { stream: 'flag-default*' }],
  ['actor:system', { actor: 'system' }],
  ['ns:default flag:checkout', { namespaceKey: 'default', flagKey: 'checkout' }],
  ['ns:default segment:none', { namespaceKey: 'default', segmentKey: 'none' }],
  ['command:RecordRefusal before:900', { command: 'RecordRefusal', before: '900' }],
  ['method:token', { method: 'token' }],
  ['after:40 before:60', { after: '40', before: '60' }],
  ['cross_site', { q: 'cross_site' }],
  ['reason:x "two  spaces"', { q: 'reason:x "two  spaces"' }],
  ['"type:literal"', { q: 'type:literal' }],
  ['request:"a b"', { requestId: 'a b' }],
  [String.raw`request:"a,b"`, { requestId: String.raw`a\,b` }],
]

await t.test('the history of many events is searched, opened and followed', { skip }, async (t) => {
  const { page, service, api } = await withHistory(t)
  const shows = async (t: Test, query: string) => {
    const { events } = await api(query)
    const wanted = events.map(({ position }) => `#${position}`)
    await comesTo(t, () => positionsShown(page), wanted, query)
  }

  await t.test('from the navigation to the newest events', async (t) => {
    await page.goto('/ns/default/flags')
    await page.getByRole('link', { name: 'History' }).waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('h')
    await page.getByRole('heading', { name: 'History', level: 1, exact: true }).waitFor()
    await page.getByText('more than 10,000').waitFor()
    t.equal(new URL(page.url()).pathname, '/history')
  })

  await t.test('personal data are opened on request, and erased and lost ones are named', async (t) => {
    const { events } = await api('namespaceKey=default&flagKey=checkout')
    const [{ position }] = events as [(typeof events)[number]]
    await page.goto(`/history/${position}`)
    const data = page.getByLabel('Personal data', { exact: true })
    await data.getByText('sealed').first().waitFor()
    const open = async () => {
      await button(page, 'Show personal data').click()
      const ask = page.getByRole('alertdialog', { name: 'Show personal data' })
      await ask.getByText('This is recorded with your name.').waitFor()
      await button(ask, 'Show personal data').click()
    }
    await open()
    await data.getByText('127.0.0.1').waitFor()
    const { events: read } = await api('type=HistoryExported')
    t.ok(
      read.some(({ data }) => data['personal'] === true),
      'the service recorded it',
    )
    await button(page, 'Hide personal data').click()
    await page.route('**/audit/v1/events/*personal=open', async (route) => {
      const response = await route.fetch()
      const json = (await response.json()) as object
      const personal = { '/meta/ip': { status: 'erased' }, '/meta/userAgent': { status: 'lost' } }
      await route.fulfill({ response, json: { ...json, personal } })
    })
    await open()
    await data.getByText('erased', { exact: true }).waitFor()
    await data.getByText('lost', { exact: true }).waitFor()
    await page.unroute('**/audit/v1/events/*personal=open')
  })

  await t.test('field, chips and address hold the same filters, and the list equals the API', async (t) => {
    await goWithin(page, '/history?before=50')
    for (const [text, query] of filters) {
      await search(page).fill(text)
      await search(page).press('Enter')
      await comesTo(t, async () => queryOf(page), query)
      const asked = new URLSearchParams(query).toString()
      await goWithin(page, `/history?${asked}`)
      await comesTo(t, () => search(page).inputValue(), text)
      t.equal((await chips(page).allTextContents()).join(' '), text, 'chips')
      await shows(t, asked)
    }
    await goWithin(page, '/history?outcome=denied')
    await button(page, 'Remove filter outcome:denied').click()
    await comesTo(t, async () => queryOf(page), {})
  })

  await t.test('pages equal the API at 20 positions, and go to older and newer events', async (t) => {
    let random = 4711
    for (let n = 0; n < 20; n++) {
      random = (random * 48_271) % 2_147_483_647
      const before = String(2 + (random % 40_000))
      await goWithin(page, `/history?before=${before}`)
      await shows(t, `before=${before}`)
    }
    await goWithin(page, '/history?before=30000')
    await page.getByRole('link', { name: '#29999', exact: true }).waitFor()
    await button(page, 'Older').click()
    await page.getByRole('link', { name: '#29899', exact: true }).waitFor()
    await page.reload()
    await page.getByRole('link', { name: '#29899', exact: true }).waitFor()
    await button(page, 'Newer').click()
    await page.getByRole('link', { name: '#29999', exact: true }).waitFor()
  })

  await t.test('a search that the budget ends goes on', async (t) => {
    await goWithin(page, '/history?q=no-such-text-anywhere&before=45001')
    await page.getByText('Looked through 20,000 events, found 0.').waitFor()
    await button(page, 'Go on').click()
    await page.getByText('Looked through 40,000 events, found 0.').waitFor()
    await button(page, 'Go on').click()
    await page.getByRole('heading', { name: 'No events match' }).waitFor()
    await button(page.getByRole('main'), 'Clear filters').first().click()
    await comesTo(t, async () => queryOf(page), {})
  })

  await t.test('the events of one request fold, and an open event shows its changes as text', async (t) => {
    await goWithin(page, '/history?namespaceKey=default&flagKey=checkout')
    const name = 'flag default/checkout: rollout added at rank 2, 50 % false'
    const fold = button(page, '2 more in this request')
    await fold.click()
    t.equal(await eventsOf(page).count(), 4)
    await page.getByRole('button', { name: /^flag default\/checkout: name, enabled changed/ }).click()
    const changes = page.getByRole('list', { name: 'Changes' })
    await changes.getByText('<img src=x onerror=alert(1)>').waitFor()
    await changes.getByText('U+202E').waitFor()
    await page.getByText('launch {{7*7}} <b>now</b>').first().waitFor()
    const { open = '' } = queryOf(page)
    await page.reload()
    await button(page, 'Prove this event').waitFor()
    t.equal(queryOf(page)['open'], open, 'the open event is in the address')
    await button(page, name).click()
    await comesTo(t, () => page.getByRole('button', { name: 'Prove this event' }).count(), 1)

    await button(page, 'Copy link').click()
    await page.getByText('Copied.').waitFor()
    const link = await page.evaluate<string>('navigator.clipboard.readText()')
    await page.goto(link)
    await page.getByRole('heading', { name, level: 1 }).waitFor()
    await button(page, 'Prove this event').click()
    await page.getByText(/^rollcall prove --address=/).waitFor()
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download the proof' }).click(),
    ])
    t.match(readFileSync(await file.path(), 'utf8'), /^c2sp\.org\/tlog-proof@v1\n/)
    await page.getByRole('link', { name: 'View as of just before' }).click()
    await page.getByRole('region', { name: 'Past' }).waitFor()
    await page.getByRole('listitem').filter({ hasText: '25 % of entities' }).first().waitFor()
    await page.goBack()
    await page.getByRole('link', { name: 'Everything in this request' }).click()
    await comesTo(t, () => positionsShown(page).then(({ length }) => length), 3)
  })

  await t.test('a quiet event hides no other one, and a missing reason is named', async (t) => {
    await service.request('POST', `${N}/flags`, { key: 'brief', name: 'Brief', type: 'BOOLEAN_FLAG_TYPE' })
    await service.request('DELETE', `${N}/flags/brief`)
    await goWithin(page, '/history?namespaceKey=default')
    const deleted = page.getByRole('button', { name: 'flag default/brief deleted' })
    await deleted.waitFor()
    await page.getByText(/^\d+ quiet events? (is|are) hidden\./).waitFor()
    await button(page, 'Show quiet events').click()
    await page.getByRole('button', { name: 'namespace default: reservation of flag brief released' }).waitFor()
    t.equal(await deleted.count(), 1)
    await deleted.click()
    await page.getByText('No reason given').waitFor()
  })

  await t.test('refused filters and pages have a sentence and a way on', async (t) => {
    await goWithin(page, '/history?before=300')
    await page.getByRole('link', { name: '#299' }).waitFor()
    for (const [text, sentence] of [
      ['type:NoSuchType', 'This version has no type “NoSuchType”. Choose one of the suggestions.'],
      ['flag:checkout', '“flag:” needs one namespace: add “ns:” and its key.'],
      ['after:yesterday', '“after:” takes the position of an event, a whole number.'],
      ['ab', 'Free text needs 3 to 200 characters.'],
    ] as const) {
      await search(page).fill(text)
      await search(page).press('Enter')
      await page.getByText(sentence).waitFor()
      t.ok(await page.getByRole('link', { name: '#299' }).isVisible(), 'the events stay')
    }
    await goWithin(page, '/history?page=of-another-list')
    await page.getByText('This page belongs to another list of events.').waitFor()
    await button(page, 'Show the newest events').click()
    await eventsOf(page).first().waitFor()
    await page.goto('/history/99999999')
    await page.getByRole('heading', { name: 'Event not found', level: 1 }).waitFor()
    await page.getByText('There is no event at position 99999999.').waitFor()
  })

  await t.test('suggestions complete qualifiers and values by keyboard', async (t) => {
    await goWithin(page, '/history')
    await search(page).pressSequentially('out')
    await page.getByRole('option', { name: 'outcome:' }).waitFor()
    await search(page).press('ArrowDown')
    await search(page).press('Enter')
    await page.getByRole('option', { name: 'denied' }).waitFor()
    await search(page).pressSequentially('de')
    await search(page).press('ArrowDown')
    await search(page).press('Enter')
    await comesTo(t, async () => queryOf(page), { outcome: 'denied' })
    await search(page).pressSequentially('ns:')
    await page.getByRole('option', { name: 'default' }).click()
    await comesTo(t, async () => queryOf(page), { outcome: 'denied', namespaceKey: 'default' })
  })

  await t.test('a list links to the last change, and the page of a deleted flag to its deletion', async (t) => {
    await page.goto('/ns/default/flags?q=checkout')
    const changed = page
      .getByRole('row', { name: /checkout/ })
      .getByRole('cell')
      .last()
    await changed.getByRole('link').click()
    await button(page, '2 more in this request').waitFor()
    t.equal(await eventsOf(page).count(), 1)
    await page.goto('/ns/default/flags/checkout?tab=history')
    await openTab(page, 'History')
    await button(page, '2 more in this request').waitFor()
    await service.request('DELETE', `${N}/flags/checkout`)
    await page.goto('/ns/default/flags/checkout')
    await page.getByText(/^It was deleted just now by initial_bootstrap_token\.$/).waitFor()
    await page.getByRole('link', { name: 'View it as of then' }).click()
    await page.getByRole('region', { name: 'Past' }).waitFor()
    await page.getByRole('tab', { name: 'Targeting' }).waitFor()
  })

  await t.test('the page of a flag or segment that ended with its namespace links to that deletion', async () => {
    await service.request('POST', '/api/v1/namespaces', { key: 'brief', name: 'Brief' })
    for (const kind of ['flags', 'segments'])
      await service.request('POST', `/api/v1/namespaces/brief/${kind}`, { key: 'x', name: 'X' })
    await service.request('DELETE', '/api/v1/namespaces/brief?force=true')
    await service.request('POST', '/api/v1/namespaces', { key: 'brief', name: 'Brief' })
    for (const kind of ['flags', 'segments']) {
      await page.goto(`/ns/brief/${kind}/x`)
      await page.getByText(/^It was deleted just now by initial_bootstrap_token\.$/).waitFor()
      await page.getByRole('link', { name: 'View it as of then' }).click()
      await page.getByRole('region', { name: 'Past' }).waitFor()
      await page.getByRole('heading', { name: 'X', level: 1 }).waitFor()
    }
  })

  await t.test('with history.read of one namespace the page names that limit and reads no more', async (t) => {
    const { clientToken } = await granted(service, {
      grants: [{ rights: ['history.read', 'self.use'], namespaceKey: 'default' }],
    })
    const { page: other } = await openBrowser(t, service, { forced: [401] })
    await signIn(other, '/history', clientToken)
    await other.getByText('You see the history of the namespace default, its flags and its segments.').waitFor()
    const first = eventsOf(other).first()
    await first.getByRole('button', { name: 'flag default/checkout deleted' }).click()
    const show = button(other, 'Show personal data')
    t.equal(await show.getAttribute('aria-disabled'), 'true')
    await first.getByRole('link', { name: /^#\d+$/ }).click()
    await other.getByRole('heading', { name: 'flag default/checkout deleted', level: 1 }).waitFor()
  })
})

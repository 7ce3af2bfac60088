import type { CDPSession, Page } from 'playwright-core'
import t from 'tap'
import { maker } from '../http/flags.ts'
import { openBrowser, signedIn, signIn, skip } from './browser.ts'
import { closeByEscape } from './focus.ts'
import { startService } from './service.ts'
import { goWithin } from './within.ts'

const MB = 1_000_000
const ROWS = 50
const flags = '/ns/default/flags'

await t.test('the list of 50 flags stays within its number of requests and its page size', { skip }, async (t) => {
  const service = await startService(t, { 'rate_limit.enabled': 'false' })
  const make = maker(service)
  await make.segment('beta')
  for (let n = 10; n < 10 + ROWS; n++) {
    await make.boolean(`flag-${n}`)
    await make.threshold(`flag-${n}`, 25)
    await make.bySegment(`flag-${n}`, { segmentKeys: ['beta'] })
  }
  const { page, newPage } = await openBrowser(t, service)
  await signIn(page)
  const fresh = await newPage()
  const origins = new Set<string>()
  /** Length of the chain of answers that each request waited for. */
  const asked = new Map<string, number>()
  const answered: number[] = []
  fresh.on('request', (request) => {
    const { origin, pathname } = new URL(request.url())
    origins.add(origin)
    if (/^\/(api|auth|evaluate|meta)\//.test(pathname)) asked.set(request.url(), Math.max(0, ...answered) + 1)
  })
  fresh.on('response', (response) => {
    const depth = asked.get(response.url())
    if (depth !== undefined) answered.push(depth)
  })
  await fresh.goto(flags)
  await fresh.getByRole('link', { name: 'flag-59' }).waitFor()
  t.comment([...asked].map(([url, depth]) => `${depth}: ${url}`).join('\n'))
  t.ok(asked.size > 0 && asked.size <= 4, `${asked.size} requests to the API`)
  t.ok(Math.max(...asked.values()) <= 2, `${Math.max(...asked.values())} after one another`)
  t.strictSame([...origins], [new URL(service.url).origin], 'nothing from elsewhere')
  t.equal(await fresh.getByRole('rowheader').count(), ROWS)
  const nodes = await fresh.evaluate<number>(`document.querySelectorAll('*').length`)
  t.ok(nodes <= 1200, `${nodes} nodes`)
})

/** Overlays: their role, name, and how to open them. */
const openers: readonly (readonly [role: 'dialog' | 'menu', name: string, open: (page: Page) => Promise<void>])[] = [
  ['dialog', 'Command palette', (page) => page.keyboard.press('Control+k')],
  ['dialog', 'Keyboard shortcuts', (page) => page.keyboard.press('?')],
  ['dialog', 'Look at another moment', (page) => page.keyboard.press('t')],
  ['dialog', 'New static token', (page) => page.keyboard.press('n')],
  ['menu', '', (page) => page.getByRole('button', { name: /^Account: / }).click()],
]

const openedAndClosed = async (page: Page, times: number) => {
  for (let n = 0; n < times; n++)
    for (const [role, name, open] of openers) {
      const opened = page.getByRole(role, name === '' ? {} : { name })
      await open(page)
      await closeByEscape(page, opened)
    }
}

const heap = async (cdp: CDPSession): Promise<number> => {
  await cdp.send('HeapProfiler.collectGarbage')
  return (await cdp.send('Runtime.getHeapUsage')).usedSize
}

await t.test('opening and closing pages leaks no memory', { skip }, async (t) => {
  const { page, context } = await signedIn(t, '/settings/tokens', {}, { context: { reducedMotion: 'reduce' } })
  await page.getByRole('button', { name: 'New token' }).waitFor()
  const cdp = await context.newCDPSession(page)
  await openedAndClosed(page, 2)
  const before = await heap(cdp)
  await openedAndClosed(page, 50)
  const more = ((await heap(cdp)) - before) / MB
  t.ok(more <= 5, `${more.toFixed(2)} MB more than before`)

  await goWithin(page, '/history')
  const row = page.getByRole('list', { name: 'Events' }).getByRole('listitem').first().getByRole('button').first()
  const openRow = async (times: number) => {
    for (let n = 0; n < times; n++) {
      await row.click()
      await page.getByRole('button', { name: 'Prove this event' }).waitFor()
      await row.click()
      await page.getByRole('button', { name: 'Prove this event' }).waitFor({ state: 'hidden' })
    }
  }
  await openRow(2)
  const closed = await heap(cdp)
  await openRow(50)
  const ofRows = ((await heap(cdp)) - closed) / MB
  t.ok(ofRows <= 5, `${ofRows.toFixed(2)} MB more after 50 rows of the timeline`)
})

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { loadConfig } from '../src/config/load.ts'
import type { LedgerStatus } from '../src/contract/history/ledger.ts'
import { launchChromium, signIn, skip, WINDOW } from '../test/ui/chromium.ts'
import { pageOf, pointAt } from '../test/ui/windows.ts'
import { median, progress, type Row, row, seconds, told } from './measure.ts'
import { fillPast, type Sizes } from './past-data.ts'
import { startServer } from './processes.ts'

/** Events in all; the targets are those of 1,000,000. */
const EVENTS = Number(process.env['ROLLCALL_BENCH_EVENTS'] ?? 1_000_000)
const SIZES: Sizes = { flags: 100, changes: 100, most: Math.round(EVENTS / 10), tokens: Math.round(EVENTS * 0.9) }
const TOKEN = 'bench-of-the-check-with-enough-letters'
const LIMIT_MS = 600_000
const names = {
  W5: 'time in which a browser verifies 1,000,000 events over loopback',
  W6: 'longest task of the main thread meanwhile',
  W7: 'time from the answer with a page of the timeline to its painted rows, 1,000,000 events, worst of 20',
} as const

/** Collects the tasks of more than 50 ms; the browser reports no shorter ones. */
const OBSERVE = `globalThis.longTasks = []
  new PerformanceObserver((list) => longTasks.push(...list.getEntries().map(({ duration }) => duration)))
    .observe({ entryTypes: ['longtask'] })`

/** Verifies the history in the panel; returns the seconds. */
const verified = async (page: Page): Promise<number> => {
  await page.getByRole('button', { name: 'Integrity: Sealed' }).click()
  const button = page.getByRole('button', { name: 'Verify here' })
  await button.waitFor()
  await page.evaluate(OBSERVE)
  return seconds(async () => {
    await button.click()
    await page.getByText(/^Verified: [\d,]+ events/).waitFor({ timeout: LIMIT_MS })
  })
}

const PAGES = 20
/** Goes to the older page. Resolves to the milliseconds from the end of the answer until the browser painted the rows. */
const OLDER = `new Promise((done) => {
  const first = () => [...document.querySelectorAll('main a')].map((link) => link.textContent).find((text) => /^#[0-9]+$/.test(text))
  const before = first()
  performance.clearResourceTimings()
  new MutationObserver((_, observer) => {
    if (first() === undefined || first() === before) return
    observer.disconnect()
    requestAnimationFrame(() => setTimeout(() => {
      const answers = performance.getEntriesByType('resource').filter(({ name }) => name.includes('/audit/v1/events?'))
      done(performance.now() - answers.at(-1).responseEnd)
    }))
  }).observe(document, { childList: true, subtree: true, characterData: true })
  ;[...document.querySelectorAll('main button')].find((button) => button.textContent === 'Older').click()
})`

/** Returns the milliseconds of each page of the timeline, after the first one. */
const pagesShown = async (page: Page): Promise<readonly number[]> => {
  await page.goto('/history')
  const times: number[] = []
  for (let n = 0; n < PAGES; n++) {
    await page.getByRole('button', { name: 'Older' }).waitFor()
    times.push(await page.evaluate<number>(OLDER))
  }
  return times
}

/** W5, W6, W7: “Verify here” and the timeline, on a service with an embedded store, in a real Chromium. */
export const run = async (): Promise<readonly Row[]> => {
  const why = skip
  if (why !== false) return Object.entries(names).map(([id, name]) => told(id, name, 'skipped', why))
  const directory = await mkdtemp(join(tmpdir(), 'rollcall-bench-'))
  const set = { 'storage.data_dir': directory, 'authentication.methods.token.bootstrap.token': TOKEN }
  progress(`W5: filling ${EVENTS} events`)
  await fillPast(loadConfig({ env: {}, flags: set }).config, SIZES)
  const options = Object.entries({ ...set, 'rate_limit.enabled': 'false' }).map(
    ([key, value]) => `--set=${key}=${value}`,
  )
  const server = await startServer('service', ...options, `--token=${TOKEN}`)
  const headers = { authorization: `Bearer ${TOKEN}` }
  const status = async () => (await (await fetch(`${server.url}/audit/v1/ledger`, { headers })).json()) as LedgerStatus
  const browser = await launchChromium(true)
  try {
    while ((await status()).state === 'building') await new Promise((done) => setTimeout(done, 1000))
    await fetch(`${server.url}/audit/v1/ledger/checkpoint`, { method: 'POST', headers })
    const context = await browser.newContext(WINDOW)
    pointAt(context, server.url)
    const page = await pageOf(context)
    await signIn(page, '/', TOKEN)
    progress('W5: verifying')
    const took = await verified(page)
    const tasks = await page.evaluate<readonly number[]>('longTasks')
    const { size = 0 } = (await status()).sealed ?? {}
    progress('W7: the timeline')
    const times = await pagesShown(page)
    const scaled = (took * 1_000_000) / size
    return [
      row('W5', names.W5, scaled, { atMost: 60 }, ' s', `${size} events in ${took.toFixed(1)} s`),
      row('W6', names.W6, Math.max(0, ...tasks), { atMost: 50 }, ' ms', `${tasks.length} tasks over 50 ms`),
      row('W7', names.W7, Math.max(...times), { atMost: 300 }, ' ms', `median ${median(times).toFixed(0)} ms`),
    ]
  } finally {
    await browser.close()
    await server.stop()
    await rm(directory, { recursive: true, force: true })
  }
}

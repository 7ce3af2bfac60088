import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core'
import { build } from 'vite'
import { showBuilt } from '../test/ui/built.ts'
import { launchChromium, signInByHand, skip, WINDOW } from '../test/ui/chromium.ts'
import { median, progress, quantile, type Row, row, told } from './measure.ts'
import { type Server, startServer } from './processes.ts'

const ROUNDS = 15
const KEYS = 60
const ROWS = 50
/** The browser slows a page by the clock on the wall, which counts what else the machine does: the thread's own clock is taken as many times instead. */
const SLOWER = 4
/** By then what a key changed has been painted; the service is asked later. */
const PAINTED_MS = 150
const ui = resolve(import.meta.dirname, '../ui')
const list = '/ns/default/flags'
const names = {
  W1: `main-thread CPU to the list of ${ROWS} flags / to a page that only shows their table`,
  W2: `main-thread CPU from key to changed words in the search of ${ROWS} flags, times ${SLOWER}, median of ${KEYS}`,
} as const

/** Says on the console when the rows are there, as the browser's script. */
const SAYS = `new MutationObserver((_, observer) => {
  if (document.querySelectorAll('tbody th[scope=row]').length < ${ROWS}) return
  observer.disconnect()
  requestAnimationFrame(() => setTimeout(() => console.debug('the list is shown')))
}).observe(document, { childList: true, subtree: true })`

/** Milliseconds of CPU that the main thread has had for tasks so far, by its own clock: what else the machine does is not in it. */
const cpuOf = async (cdp: CDPSession): Promise<number> => {
  const { metrics } = await cdp.send('Performance.getMetrics')
  return metrics.find(({ name }) => name === 'TaskDuration')!.value * 1000
}

/** Milliseconds of CPU that the main thread has had for a page until its list was shown, in a window that knows nothing yet. */
const cpuToList = async (context: BrowserContext): Promise<number> => {
  const page = await context.newPage()
  const cdp = await context.newCDPSession(page)
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' })
  await page.addInitScript(SAYS)
  const shown = page.waitForEvent('console', (message) => message.text() === 'the list is shown')
  await page.goto(list)
  await shown
  const cpu = await cpuOf(cdp)
  await context.close()
  return cpu
}

type Signed = Awaited<ReturnType<BrowserContext['storageState']>>

const listAgainstPage = async (browser: Browser, { url }: Server, storageState: Signed): Promise<Row> => {
  progress('W1: main-thread CPU to the list')
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-page-'))
  const settings = { outDir: folder, emptyOutDir: true, cssCodeSplit: false, modulePreload: { polyfill: false } }
  await build({
    root: resolve(import.meta.dirname, '../../ui/bench'),
    configFile: false,
    base: './',
    logLevel: 'error',
    oxc: { jsx: { runtime: 'automatic' } },
    build: { ...settings, target: 'es2023' },
  })
  const of = async (built: string) => {
    const context = await browser.newContext({ ...WINDOW, baseURL: url, storageState })
    await showBuilt(context, built)
    return cpuToList(context)
  }
  const [ours, page]: [number[], number[]] = [[], []]
  for (let round = -1; round < ROUNDS; round++) {
    const [one, other] = [await of(ui), await of(folder)]
    if (round < 0) continue
    ours.push(one)
    page.push(other)
  }
  await rm(folder, { recursive: true })
  const [one, other] = [median(ours), median(page)]
  const note = `${one.toFixed(0)} ms against ${other.toFixed(0)} ms`
  return row('W1', names.W1, one / other, { atMost: 1.6 }, '', note)
}

const keysToWords = async (page: Page): Promise<Row> => {
  progress('W2: from key to changed words')
  await page
    .locator('tbody th[scope=row]')
    .nth(ROWS - 1)
    .waitFor()
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' })
  await page.getByRole('searchbox', { name: 'Search flags' }).focus()
  const times: number[] = []
  for (let n = 0; n < KEYS; n++) {
    const before = await cpuOf(cdp)
    await page.keyboard.press(n % 10 < 5 ? 'flag-'[n % 10]! : 'Backspace')
    await page.waitForTimeout(PAINTED_MS)
    times.push(SLOWER * ((await cpuOf(cdp)) - before))
  }
  // A machine that is late shows the answer to an earlier key within the time of this one.
  const note = `p95 ${quantile(times, 0.95).toFixed(0)} ms`
  return row('W2', names.W2, median(times), { atMost: 100 }, ' ms', note)
}

/** W1, W2: what the list of flags costs the thread that a page has, in a real Chromium. */
export const run = async (): Promise<readonly Row[]> => {
  const why = skip
  if (why !== false) return Object.entries(names).map(([id, name]) => told(id, name, 'skipped', why))
  const server = await startServer('service', `--flags=${ROWS}`, '--set=rate_limit.enabled=false')
  const browser = await launchChromium()
  try {
    const context = await browser.newContext({ ...WINDOW, baseURL: server.url })
    const page = await context.newPage()
    await signInByHand(page, list, server.tokens[0])
    return [await listAgainstPage(browser, server, await context.storageState()), await keysToWords(page)]
  } finally {
    await browser.close()
    await server.stop()
  }
}

import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { measureSlicesBy } from '../../src/base/event-loop.ts'
import { addGauges } from '../../src/http/metrics/gauges.ts'
import { metricsOf, metricsPage } from '../../src/http/metrics/metrics.ts'
import { bytesOf, sharedPage } from '../../src/http/metrics/metrics-page.ts'
import { addStoreGauges } from '../../src/http/metrics/store-gauges.ts'
import { anyProjection } from '../../src/projections/projection.ts'
import { tokens } from '../../src/projections/tokens.ts'
import { memoryLog } from '../memory-log.ts'
import { virtualClock } from '../virtual-clock.ts'

await t.test('writing a metrics page of 10,000 flags lets other work run', async (t) => {
  const metrics = metricsOf(metricsPage('m_'), { flagLabels: true })
  for (let n = 0; n < 10_000; n++) {
    metrics.evaluations('default', `flag-${n}`).value++
    metrics.evaluationLatency('default', `flag-${n}`).observe(1)
  }
  // One millisecond passes between two clock reads.
  let looks = 0
  measureSlicesBy(() => looks++)
  const seen = { turns: 0, writing: true }
  const others = async () => {
    while (seen.writing) {
      await setImmediate()
      seen.turns++
    }
  }
  const running = others()
  const chunks = await metrics.write()
  seen.writing = false
  await running
  measureSlicesBy(() => 0)
  const bytes = chunks.reduce((sum, { length }) => sum + length, 0)
  t.comment(`${bytes} bytes, ${seen.turns} turns of others`)
  t.ok(bytes > 5_000_000)
  t.ok(seen.turns > 5)
})

await t.test('at most one metrics page a second is written, and all readers share it', async (t) => {
  let made = 0
  const clock = virtualClock()
  let write = async () => [Buffer.from(`page ${++made}`)]
  const page = sharedPage(() => write(), clock)
  const text = async () => Buffer.concat((await page()).plain).toString()
  t.strictSame(await Promise.all([text(), text(), text()]), ['page 1', 'page 1', 'page 1'])
  await clock.advance(999)
  t.equal(await text(), 'page 1')
  await clock.advance(1)
  t.equal(await text(), 'page 2')
  const [first, second] = await Promise.all([(await page()).gzipped(), (await page()).gzipped()])
  t.equal(first, second, 'put into gzip once')

  let finish = (): void => undefined
  write = () => new Promise((done) => (finish = () => done([Buffer.from('slow')])))
  await clock.advance(1000)
  const slow = text()
  await clock.advance(7000)
  const late = text()
  finish()
  t.strictSame(await Promise.all([slow, late]), ['slow', 'slow'])

  await clock.advance(11_000)
  write = () => Promise.reject(new Error('no'))
  await t.rejects(text(), { message: 'no' })
  write = async () => [Buffer.from('again')]
  t.equal(await text(), 'again')
})

const textOf = async (metrics: ReturnType<typeof metricsOf>) => Buffer.concat([...(await metrics.write())]).toString()

await t.test('label values beyond 10,000 combinations of a metric are counted together', async (t) => {
  const metrics = metricsOf(metricsPage('m_'), { flagLabels: true })
  for (let n = 0; n < 10_002; n++) metrics.evaluations('ns', `flag-${n}`).value++
  metrics.evaluations('ns', 'flag-0').value++
  metrics.evaluations('ns', 'flag-10001').value++
  const page = await textOf(metrics)
  t.match(page, /^m_evaluations_requests_total\{namespace="ns",flag="flag-0"\} 2$/m)
  t.match(page, /^m_evaluations_requests_total\{namespace="other",flag="other"\} 3$/m)
  t.notMatch(page, /flag-1000[01]/)
})

await t.test('label values beyond 4 MiB of a metric are counted together', async (t) => {
  const metrics = metricsOf(metricsPage('m_'), { flagLabels: true })
  const long = 'x'.repeat(1_048_576)
  for (let n = 0; n < 6; n++) metrics.evaluations('ns', `${n}${long}`).value++
  metrics.evaluations('ns', 'short').value++
  metrics.evaluations('ns', `0${long}`).value++
  const page = await textOf(metrics)
  t.ok(page.length < 4.1 * 1_048_576, `${page.length} characters`)
  t.match(page, /^m_evaluations_requests_total\{namespace="ns",flag="0x+"\} 2$/m)
  t.match(page, /^m_evaluations_requests_total\{namespace="ns",flag="short"\} 1$/m)
  t.match(page, /^m_evaluations_requests_total\{namespace="other",flag="other"\} 3$/m)
})

await t.test('infinite values are written in the format of Prometheus', async (t) => {
  const metrics = metricsOf(metricsPage('m_'), { flagLabels: false })
  metrics.gauge('up', 'Up.', [], () => [{ labels: [], value: Number.POSITIVE_INFINITY }])
  metrics.gauge('down', 'Down.', [], () => [{ labels: [], value: Number.NEGATIVE_INFINITY }])
  const page = await textOf(metrics)
  t.match(page, /^m_up \+Inf$/m)
  t.match(page, /^m_down -Inf$/m)
})

await t.test('the delay of a read model is exported up to a limit, and not without the event log', async (t) => {
  const log = memoryLog({ pageSize: 1000 })
  const event = (n: number) => ({ id: `e${n}`, type: 'A', time: '2026-01-01T00:00:00.000Z', data: '{}', meta: '{}' })
  const append = (stream: string, count: number) =>
    log.append(
      stream,
      Array.from({ length: count }, (_, n) => event(n)),
      'none',
    )
  await append('token-a', 7)
  const known = log.all[2]!.position
  let down = false
  const page = async () => {
    const metrics = metricsOf(metricsPage('m_'), { flagLabels: false })
    const head = async () => (down ? Promise.reject(new Error('down')) : log.head())
    const tokensHeld = { size: () => 3, reachBytes: () => 40, mostReachBytes: 50 }
    const rest = {
      position: () => known,
      census: () => [],
      tokensHeld,
      aheadMs: () => 0,
      closed: () => [],
      instances: () => [],
    }
    addGauges(metrics, { log: { ...log, head }, projections: [anyProjection(tokens)], ...rest })
    return textOf(metrics)
  }
  const lag = async () => /^m_projection_lag_events\{name="tokens"\} (\d+)$/m.exec(await page())?.[1]
  t.equal(await lag(), '4')
  t.match(await page(), /^m_tokens_held 3$/m)
  t.match(await page(), /^m_token_rights_bytes 40$/m)
  t.match(await page(), /^m_token_rights_limit_bytes 50$/m)
  await append('token-b', 25_000)
  t.ok(Number(await lag()) >= 10_000 && Number(await lag()) < 25_000)
  down = true
  t.equal(await lag(), undefined)
})

await t.test('jobs are exported by their last result, and leases by their holder', async (t) => {
  const metrics = metricsOf(metricsPage('m_'), { flagLabels: false })
  const runs = [
    { name: 'good', startedAt: 1000, finishedAt: 3000, progress: { done: 2, total: 3 } },
    { name: 'bad', startedAt: 1000, finishedAt: 1500, error: 'no', progress: { done: 1 } },
    { name: 'now', startedAt: 1000 },
  ]
  addStoreGauges(metrics, {
    queue: { runs: async () => runs },
    intervals: new Map([['good', 60_000]]),
    restarts: { connection: 2 },
    writes: () => false,
    sharing: () => true,
    viewLag: async () => 7,
    indexLag: async () => 8,
    refusedRows: () => 1,
    writeAheadLogs: async () => [{ database: 'events.sqlite', bytes: 4096 }],
    provenFor: () => 500,
    clock: virtualClock('1970-01-01T00:00:06.500Z'),
  })
  const page = await textOf(metrics)
  const outcomes = [...page.matchAll(/^m_job_last_outcome\{name="(\w+)",outcome="(\w+)"\} 1$/gm)]
  t.strictSame(
    outcomes.map(([, job, outcome]) => [job, outcome]),
    [
      ['good', 'ok'],
      ['bad', 'failed'],
      ['now', 'running'],
    ],
  )
  const items = [...page.matchAll(/^m_job_last_items\{name="(\w+)",of="(\w+)"\} (\d+)$/gm)]
  t.strictSame(
    items.map(([, ...item]) => item.join(' ')),
    ['good done 2', 'good total 3', 'bad done 1'],
    'no series without a reported progress',
  )
  t.match(page, /^m_log_restarts_total\{what="connection"\} 2$/m)
  const durations = [...page.matchAll(/^m_job_last_duration_seconds\{name="(\w+)"\} (\S+)$/gm)]
  t.strictSame(
    durations.map(([, ...duration]) => duration.join(' ')),
    ['good 2', 'bad 0.5', 'now 5.5'],
    'a running job has its duration so far',
  )
  t.match(page, /^m_view_lease_held 0$/m)
  t.match(page, /^m_view_lag_events 7$/m)
  t.match(page, /^m_embedded_wal_bytes\{file="events.sqlite"\} 4096$/m)
  t.match(page, /^m_history_index_lag_events 8$/m)
})

await t.test('writing a metrics page lets other work run every 2 ms', async (t) => {
  let elapsed = 0
  function* texts(ms: number) {
    for (let n = 0; n < 12; n++) {
      elapsed += ms
      yield [`text ${n}`]
    }
  }
  for (const [ms, pauses] of [
    [1, 6],
    [1.999, 6],
    [2, 12],
    [0.1, 0],
  ] as const) {
    measureSlicesBy(() => elapsed)
    /** Times at which other work ran. */
    const times = new Set<number>()
    let isWriting = true
    const others = async () => {
      for (;;) {
        await setImmediate()
        if (!isWriting) return
        times.add(elapsed)
      }
    }
    const bytes = bytesOf(texts(ms)).finally(() => (isWriting = false))
    const running = others()
    t.equal((await bytes).length, 12)
    await running
    t.equal(times.size, pauses, `a text takes ${ms} ms`)
  }
})

import t from 'tap'
import { instrumented } from '../../src/app/stores/store-metrics.ts'
import type { Stores } from '../../src/app/stores/stores.ts'
import { outageLog } from '../../src/app/telemetry/outage-log.ts'
import { Refusal, refuse } from '../../src/base/errors.ts'
import type { EventLog, Stored } from '../../src/events/log.ts'
import { metricsOf, metricsPage } from '../../src/http/metrics/metrics.ts'
import type { Job, Queue } from '../../src/jobs/queue.ts'
import type { Views } from '../../src/projections/views.ts'
import { checkpointAt } from '../contracts/views.ts'
import { virtualClock } from '../virtual-clock.ts'

const page = [{ stream: 'a-1' }] as unknown as readonly Stored[]

/** Instruments the given functions; returns readers of the metrics of an operation. */
const measuring = (ports: {
  readonly log?: Partial<EventLog>
  readonly views?: Partial<Views>
  readonly queue?: Partial<Queue>
}) => {
  const metrics = metricsOf(metricsPage('m_'), { flagLabels: false })
  const lines: object[] = []
  const clock = virtualClock()
  const log = { error: (record: object) => lines.push(record), info: (record: object) => lines.push(record) }
  const faults = outageLog(log as never, clock)
  const adapters = { log: 'l', views: 'v', queue: 'q' }
  const stores = instrumented(
    clock,
    { log: {}, views: {}, queue: {}, keys: {}, adapters, ...ports } as unknown as Stores,
    metrics,
    faults,
  )
  const found = async (name: string, operation: string) => {
    const text = Buffer.concat(await metrics.write()).toString()
    const lines = text.matchAll(
      new RegExp(`^m_store_${name}\\{(port="[^}]*operation="${operation}"[^}]*)\\} (\\S+)$`, 'gm'),
    )
    return [...lines].map(([, labels, value]) => [labels, Number(value)] as const)
  }
  /** Counts of ok, refused, failed. */
  const calls = async (operation: string) => (await found('calls_total', operation)).map(([, value]) => value)
  const seconds = async (operation: string) =>
    (await found('call_duration_seconds_sum', operation)).map(([, value]) => value)
  return { ...stores, clock, found, calls, seconds, lines }
}

await t.test('calls of a store return its results and are counted by store, operation and outcome', async (t) => {
  let answers = 0
  const { clock, views, calls, found, seconds, lines } = measuring({
    views: {
      checkpoint: async () => {
        await clock.advance(250)
        return ++answers === 1
          ? checkpointAt(7n)
          : answers === 2
            ? refuse('backend_unavailable')
            : refuse('body_too_large')
      },
    },
  })
  t.same(await calls('checkpoint'), [0, 0, 0], 'there from the start')
  const view = { name: 'x', version: 1, fields: [], indexes: [] }
  t.same(await views.checkpoint(view), checkpointAt(7n))
  await t.rejects(views.checkpoint(view), new Refusal('backend_unavailable'))
  await t.rejects(views.checkpoint(view), new Refusal('body_too_large'))
  t.same(await calls('checkpoint'), [1, 1, 1])
  t.match(
    lines,
    [{ port: 'views', adapter: 'v', operation: 'checkpoint' }],
    'the failure is logged, the refusal is not',
  )
  t.same(
    (await found('calls_total', 'checkpoint'))[0]![0],
    'port="views",adapter="v",operation="checkpoint",outcome="ok"',
  )
  const [took] = await seconds('checkpoint')
  t.equal(took, 0.75)
})

await t.test('an iterator counts as one call, without the time that its reader takes', async (t) => {
  let ended = 0
  const pages = (count: number, failure?: Error) =>
    async function* () {
      try {
        for (let n = 0; n < count; n++) yield page
        if (failure) throw failure
      } finally {
        ended++
      }
    }
  const { clock, log, calls, seconds, found } = measuring({
    log: { read: pages(3), readAll: pages(3, new Error('torn')), follow: pages(3) },
  })
  for await (const got of log.read('a-1')) {
    t.equal(got, page)
    await clock.advance(200)
  }
  t.same([await calls('read'), ended], [[1, 0, 0], 1])
  t.equal((await seconds('read'))[0], 0)
  for await (const _ of log.read('a-1')) break
  t.same([await calls('read'), ended], [[2, 0, 0], 2], 'left early, it ends at once')
  await t.rejects(
    (async () => {
      for await (const _ of log.readAll(0n));
    })(),
    /torn/,
  )
  t.same(await calls('readAll'), [0, 0, 1])
  for await (const _ of log.follow(0n, new AbortController().signal)) break
  t.same(await calls('follow'), [1, 0, 0])
  t.same(await found('call_duration_seconds_count', 'follow'), [], 'to wait for events is not slow')
})

await t.test('a job run is counted on the instance that runs it', async (t) => {
  const scheduled: Job[] = []
  const { queue, calls } = measuring({ queue: { schedule: async (job) => void scheduled.push(job) } })
  const told: unknown[] = []
  let runs = 0
  await queue.schedule({
    name: 'j',
    every: 1,
    run: async (signal, tell) => {
      told.push(signal.aborted)
      tell({ done: 1 })
      if (++runs > 1) throw new Error('no luck')
    },
  })
  const [job] = scheduled
  const run = async () => job!.run(new AbortController().signal, (progress) => told.push(progress))
  await run()
  await t.rejects(run(), /no luck/)
  t.same(
    [await calls('schedule'), await calls('run')],
    [
      [1, 0, 0],
      [1, 0, 1],
    ],
  )
  t.same(told.slice(0, 2), [false, { done: 1 }])
})

import t from 'tap'
import { scheduleCleanups } from '../../src/app/cleanups.ts'
import { sweepOf } from '../../src/app/reapply-rules.ts'
import type { Job } from '../../src/jobs/queue.ts'
import { noted } from '../noted.ts'
import { virtualClock } from '../virtual-clock.ts'

/** Views that never catch up with the log. */
const behind = () => {
  const clock = virtualClock()
  const log = { head: async () => 7n }
  const viewsReached = async (_view: unknown, _position: bigint, withinMs: number) => {
    await clock.sleep(withinMs)
    return false
  }
  return { clock, log, viewsReached }
}
/** How long (ms) jobs that end or narrow tokens wait for the views. */
const WAIT_MS = 30_000

await t.test('a cleanup waits 30 s for the read models, and deletes nothing without them', async (t) => {
  const { clock, log, viewsReached } = behind()
  const jobs: Job[] = []
  const method = { enabled: true, cleanup: { interval: 1, grace_period: 0 } }
  const methods = { token: method, oidc: method, codehost: method, orchestrator: method }
  await scheduleCleanups(
    { authentication: { methods } } as unknown as Parameters<typeof scheduleCleanups>[0],
    {
      stores: { views: {}, queue: { schedule: async (job: Job) => void jobs.push(job) } },
      log,
      time: { present: clock.now, steady: () => () => true },
      follower: { viewsReached },
      intervals: new Map(),
    } as unknown as Parameters<typeof scheduleCleanups>[1],
    { warn: () => undefined } as unknown as Parameters<typeof scheduleCleanups>[2],
  )
  t.ok(jobs.length > 0)
  const over = jobs.map((job) => noted(job.run(new AbortController().signal, () => undefined)))
  await clock.advance(WAIT_MS - 1)
  t.strictSame(over.flat(), [])
  await clock.advance(1)
  for (const [outcome] of over) t.match(outcome, { reason: 'view_behind' })
})

await t.test('applying later access rules waits 30 s for the read models and is repeated', async (t) => {
  const { clock, log, viewsReached } = behind()
  const told: unknown[] = []
  const service = {
    settings: { access: { rules: [], unmatched: 'refuse' } },
    log,
    viewsReached,
    policy: { number: async () => 1 },
    now: clock.now,
  } as unknown as Parameters<typeof sweepOf>[0]
  const onError = () => (error: unknown) => void told.push(error)
  const sweep = sweepOf(service, { clock, onError }, { info: () => undefined })!
  sweep.begin()
  await clock.advance(WAIT_MS - 1)
  t.strictSame(told, [])
  await clock.advance(1)
  t.match(told, [{ reason: 'view_behind' }])
  await sweep.close()
  t.strictSame(clock.waiting(), [])
})

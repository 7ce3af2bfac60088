import t from 'tap'
import { sweepOf } from '../../src/app/features/logins.ts'
import { cleanups } from '../../src/app/features/tokens.ts'
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
  const method = { enabled: true, cleanup: { interval: 1, grace_period: 0 } }
  const methods = { token: method, oidc: method, codehost: method, orchestrator: method }
  const jobs = cleanups({
    config: { authentication: { methods } },
    log,
    now: clock.now,
    time: { steady: () => () => true },
    viewsReached,
  } as unknown as Parameters<typeof cleanups>[0])
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
  const core = {
    settings: { access: { rules: [], unmatched: 'refuse' } },
    log,
    viewsReached,
    clock,
    now: clock.now,
    onError: () => (error: unknown) => void told.push(error),
  } as unknown as Parameters<typeof sweepOf>[0]
  const sweep = sweepOf(core, { number: async () => 1 } as Parameters<typeof sweepOf>[1])!
  sweep.begin()
  await clock.advance(WAIT_MS - 1)
  t.strictSame(told, [])
  await clock.advance(1)
  t.match(told, [{ reason: 'view_behind' }])
  await sweep.close()
  t.strictSame(clock.waiting(), [])
})

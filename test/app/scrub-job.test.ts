import t from 'tap'
import { scrubJob } from '../../src/app/features/ledger.ts'
import { Refusal } from '../../src/base/errors.ts'
import type { Job } from '../../src/jobs/queue.ts'
import type { LedgerState } from '../../src/ledger/follower.ts'
import { virtualClock } from '../virtual-clock.ts'

const HOUR = 3_600_000

const world = (schedule: (job: Job) => Promise<void> = async () => undefined) => {
  const clock = virtualClock()
  const jobs: Job[] = []
  const done: string[] = []
  const state = { ledger: 'building' as LedgerState }
  const queue = {
    schedule: async (job: Job) => {
      jobs.push(job)
      await schedule(job)
    },
  }
  const job = scrubJob(
    HOUR,
    {
      clock,
      stores: { queue },
      intervals: new Map(),
      onError: (what: string) => () => void done.push(what),
    } as never,
    { scrub: async () => void done.push('scrub'), state: () => state.ledger },
    async () => void done.push('erase again'),
  )
  return { clock, jobs, done, state, job }
}

await t.test('the log is compared with the ledger a minute after the start, once the tree is built', async (t) => {
  const { clock, jobs, done, state, job } = world()
  job.begin()
  await clock.advance(60_000)
  state.ledger = 'ok'
  await clock.advance(999)
  t.equal(jobs.length, 0)
  await clock.advance(1)
  t.match(jobs, [{ name: 'ledger-scrub', every: HOUR }])
  await jobs[0]!.run(new AbortController().signal, () => undefined)
  t.strictSame(done, ['erase again', 'scrub'])
  await job.close()
})

await t.test('a built tree is compared a minute after the start, and an end before it schedules nothing', async (t) => {
  const built = world()
  built.state.ledger = 'ok'
  built.job.begin()
  await built.clock.advance(59_999)
  t.equal(built.jobs.length, 0)
  await built.clock.advance(1)
  t.equal(built.jobs.length, 1)
  const ended = world()
  ended.job.begin()
  await ended.job.close()
  t.strictSame([ended.jobs, ended.done, ended.clock.waiting()], [[], [], []])
})

await t.test('a closed queue is no failure, and any other failure is reported', async (t) => {
  for (const [failure, told] of [
    [new Refusal('backend_unavailable'), []],
    [new Error('defect'), ['the comparison of the log with the ledger is not scheduled']],
  ] as const) {
    const { clock, state, done, job } = world(() => Promise.reject(failure))
    state.ledger = 'ok'
    job.begin()
    await clock.advance(60_000)
    await job.close()
    t.strictSame(done, told)
  }
})

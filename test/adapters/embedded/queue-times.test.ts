import t from 'tap'
import { embeddedQueue } from '../../../src/adapters/embedded/queue.ts'
import type { Database } from '../../../src/adapters/embedded/sqlite.ts'
import type { Channel } from '../../../src/adapters/embedded/writer/channel.ts'
import { virtualClock } from '../../virtual-clock.ts'

const DAY_MS = 86_400_000
/** Maximum timer of Node. */
const LONGEST = 2 ** 31 - 1

/** A queue whose store answers immediately, and the runs stored there. */
const world = () => {
  const clock = virtualClock()
  const began = clock.now().getTime()
  const noted: (readonly unknown[])[] = []
  const call = async (_: string, name: string, started: number, finished: number | null, error: string | null) =>
    void noted.push([name, started - began, finished && finished - began, error])
  const reader = { prepare: () => ({ all: () => [], setReturnArrays: () => undefined }) } as unknown as Database
  const errors: unknown[] = []
  const queue = embeddedQueue(
    { call } as unknown as Channel,
    reader,
    clock,
    (job, error) => errors.push([job, error]),
    (read) => read(),
  )
  const starts: number[] = []
  const run = async () => void starts.push(clock.monotonic())
  return { clock, queue, noted, errors, starts, run }
}

await t.test('a job runs at the start and then exactly at its intervals', async (t) => {
  const { clock, queue, starts, run } = world()
  await queue.schedule({ name: 'tick', every: 60_000, run })
  await clock.settle()
  t.same(starts, [0])
  await clock.advance(59_999)
  t.same(starts, [0])
  await clock.advance(1)
  t.same(starts, [0, 60_000])
  await clock.advance(180_000)
  t.same(starts, [0, 60_000, 120_000, 180_000, 240_000])
  await queue.close()
  t.same(clock.waiting(), [])
})

await t.test('an interval counts from the start of a run; after a longer run the next starts at once', async (t) => {
  const { clock, queue, starts } = world()
  let takes = 40
  const run = async () => {
    starts.push(clock.monotonic())
    await clock.sleep(takes)
  }
  await queue.schedule({ name: 'slow', every: 100, run })
  await clock.advance(100)
  t.same(starts, [0, 100])
  takes = 250
  await clock.advance(100)
  t.same(starts, [0, 100, 200])
  await clock.advance(249)
  t.equal(starts.length, 3, 'it still runs')
  await clock.advance(1)
  t.same(starts, [0, 100, 200, 450])
  const closed = queue.close()
  await clock.advance(250)
  await closed
})

await t.test('the queue stores the start, end and error of each job run', async (t) => {
  const { clock, queue, noted, errors } = world()
  const run = async () => {
    await clock.sleep(30)
    throw new Error('bad day')
  }
  await queue.schedule({ name: 'bad', every: 1_000, run })
  await clock.advance(29)
  t.same(noted, [['bad', 0, null, null]])
  await clock.advance(1)
  t.same(noted, [
    ['bad', 0, null, null],
    ['bad', 0, 30, 'bad day'],
  ])
  await clock.advance(970)
  t.same(noted.at(-1), ['bad', 1_000, null, null], 'and tried again at the next interval')
  t.match(errors, [['bad', { message: 'bad day' }]])
  const closed = queue.close()
  await clock.advance(30)
  await closed
})

await t.test('a job interval that is too long for one timer of Node.js is split into several timers', async (t) => {
  const { clock, queue, starts, run } = world()
  await queue.schedule({ name: 'rare', every: 30 * DAY_MS, run })
  await clock.settle()
  t.same(clock.waiting(), [LONGEST])
  await clock.advance(LONGEST)
  t.same([starts, clock.waiting()], [[0], [30 * DAY_MS - LONGEST]])
  await clock.advance(30 * DAY_MS - LONGEST - 1)
  t.same(starts, [0])
  await clock.advance(1)
  t.same(starts, [0, 30 * DAY_MS])
  await queue.close()
})

await t.test('a job runs later if the system time is set back, but not earlier if it is set ahead', async (t) => {
  const { clock, queue, starts, run } = world()
  await queue.schedule({ name: 'tick', every: 60_000, run })
  await clock.advance(30_000)
  clock.jump(-10_000)
  await clock.advance(30_000)
  t.same(starts, [0], 'by the wall clock 50 seconds have passed')
  await clock.advance(9_999)
  t.same(starts, [0])
  await clock.advance(1)
  t.same(starts, [0, 70_000])
  clock.jump(3_600_000)
  await clock.advance(59_999)
  t.same(starts, [0, 70_000])
  await clock.advance(1)
  t.same(starts, [0, 70_000, 130_000])
  await queue.close()
})

await t.test('closing the queue aborts running jobs and starts no others', async (t) => {
  const { clock, queue, starts } = world()
  let ended = 0
  const run = async (signal: AbortSignal) => {
    starts.push(clock.monotonic())
    await clock.sleep(1_000, signal)
    ended++
  }
  await queue.schedule({ name: 'long', every: 100, run })
  await clock.settle()
  await queue.close()
  t.same([starts, ended, clock.waiting()], [[0], 1, []])
  await t.rejects(queue.schedule({ name: 'late', every: 100, run }))
  await clock.advance(10_000)
  t.same([starts, ended], [[0], 1])
})

import type { EventStoreDBClient, ReadAllOptions, ResolvedEvent, StreamingRead } from '@eventstore/db-client'
import t, { type Test } from 'tap'
import type { Connection } from '../../src/adapters/eventstoredb/connection.ts'
import { ownOf } from '../../src/adapters/eventstoredb/event.ts'
import { reader } from '../../src/adapters/eventstoredb/read.ts'
import { collect, refused } from '../contracts/log.ts'
import { virtualClock } from '../virtual-clock.ts'
import { recordedAt as at } from './eventstoredb-recorded.ts'

const [PATIENCE, QUICK] = [10_000, 1_500]
/** Maximum pause in ms between retries. */
const PAUSE = 200

/** A reader whose log reads the test answers after a delay in ms. */
const answeredBy = (
  t: Test,
  answer: (options: ReadAllOptions) => readonly ResolvedEvent[],
  takes: (options: ReadAllOptions) => number = () => 0,
) => {
  t.intercept(Math, 'random', { value: () => 1 })
  const clock = virtualClock()
  const gather: Connection['gather'] = async (_, start, take) => {
    let asked: ReadAllOptions = {}
    const client = { readAll: (options: ReadAllOptions) => void (asked = options) }
    start(client as unknown as EventStoreDBClient) satisfies StreamingRead<ResolvedEvent>
    const ms = takes(asked)
    if (ms > 0) await clock.sleep(ms)
    for (const item of answer(asked)) if (take(item)) return
  }
  const read = reader({ gather } as unknown as Connection, ownOf('', new Set(['test'])), {
    clock,
    patience: PATIENCE,
    quick: QUICK,
  })
  return { read, clock }
}
const isBackwards = ({ direction }: ReadAllOptions) => direction === 'backwards'
const away = () => {
  throw Object.assign(new Error('No leader info available'), { type: 'unknown', code: 2 })
}
const silent = () => {
  throw new Error('away')
}
/** False while a promise is pending. */
const isOver = (work: Promise<unknown>) => {
  let over = false
  const done = () => void (over = true)
  work.then(done, done)
  return () => over
}

for (const known of [0n, 1n])
  for (const [late, tries, ms] of [
    [0, PATIENCE / PAUSE + 2, PATIENCE + PAUSE],
    [1, PATIENCE / PAUSE + 1, PATIENCE + 1],
  ] as const)
    void t.test(`a read from a node at ${known} is tried for 10 s; the answer comes after ${late} ms`, async (t) => {
      let asked = 0
      const answer = (options: ReadAllOptions) => {
        if (isBackwards(options)) return [at(7n)]
        asked++
        return known === 0n ? [] : [at(known)]
      }
      // Known events are returned immediately.
      const takes = (options: ReadAllOptions) => (!isBackwards(options) && asked === Number(known) ? late : 0)
      const { read: log, clock } = answeredBy(t, answer, takes)
      const over = isOver(refused(t, collect(log.readAll(0n)), 'backend_unavailable'))
      await clock.advance(ms - 1)
      t.notOk(over())
      await clock.advance(1)
      t.ok(over())
      t.equal(asked, tries + Number(known))
    })

void t.test('each page of a read has its own time limit', async (t) => {
  let known = 0n
  const { read: log, clock } = answeredBy(t, (options) => {
    if (isBackwards(options)) return [at(3n)]
    const from = typeof options.fromPosition === 'object' ? options.fromPosition.commit : 0n
    return [1n, 2n, 3n].filter((position) => position >= from && position <= known).map(at)
  })
  const read = collect(log.readAll(0n))
  for (known = 0n; known < 3n; known++) await clock.advance(PATIENCE - PAUSE)
  await clock.advance(PAUSE)
  t.equal((await read).length, 3)
})

// The last retry begins at least 100 ms before the end.
for (const [late, quick, slow] of [
  [0, 1_600, 10_000],
  [1, 1_401, 10_001],
  [100, 1_500, 10_100],
  [101, 1_501, 9_901],
] as const)
  void t.test(`the time limit of a page is 10 s, and other reads have their own; first try ${late} ms`, async (t) => {
    let tries = 0
    const { read: log, clock } = answeredBy(t, silent, () => (tries++ < 4 ? late : 0))
    const works = [log.head(), log.at(7n), log.first(), collect(log.readAll(0n))]
    const ends = works.map(async (work) => {
      await refused(t, work, 'backend_unavailable')
      return clock.monotonic()
    })
    await clock.advance(PATIENCE + PAUSE)
    t.same(await Promise.all(ends), [quick, quick, slow, slow])
  })

void t.test('a read that fails in the middle of the log continues at its exact position', async (t) => {
  let [searches, failures] = [0, 0]
  const { read: log, clock } = answeredBy(t, (options) => {
    if (isBackwards(options)) {
      searches++
      return [at(1500n)]
    }
    const from = typeof options.fromPosition === 'object' ? options.fromPosition.commit : 1n
    if (from > 1n && failures++ === 0) away()
    return Array.from({ length: 1000 }, (_, n) => at(from + BigInt(n))).filter(
      ({ event }) => event!.position!.commit <= 1500n,
    )
  })
  const read = collect(log.readAll(0n))
  await clock.advance(PAUSE)
  t.equal((await read).length, 1500)
  t.same([failures > 0, searches], [true, 1], 'the head was looked for, and nothing else')
})

void t.test('a log that became shorter is detected, and results of earlier reads stay unchanged', async (t) => {
  let positions = [9n, 8n, 7n]
  const { read: log, clock } = answeredBy(t, (options) => (isBackwards(options) ? positions.map(at) : []))
  t.equal(await log.head(), 9n)
  positions = [7n, 6n]
  t.equal(await log.head(), 7n, 'put back to an older copy')
  const read = refused(t, collect(log.readAll(7n, 9n)), 'backend_unavailable')
  await clock.advance(PATIENCE + PAUSE)
  await read
  positions = [11n, 10n, 7n]
  t.equal(await log.head(), 11n)
  positions = []
  t.equal(await log.head(), 0n, 'emptied')
})

import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import { isRefusal, type Reason, Refusal } from '../../src/base/errors.ts'
import type { EventLog, Expected, NewEvent, Stored } from '../../src/events/log.ts'
import { eventually } from '../wait.ts'

/** Log that can be reopened, without other writers. */
export type LogStore = { readonly open: () => Promise<EventLog> }

const NOW = Date.parse('2026-01-01T00:00:00.000Z')

/** Creates an event to append; `n` is in its data. */
export const happened = (n: number, id: string = randomUUID()): NewEvent => ({
  id,
  type: 'Happened',
  time: new Date(NOW + n).toISOString(),
  data: JSON.stringify({ n }),
  meta: '{"actor":{"kind":"system"},"schema":1}',
})

const numbers = (events: readonly Stored[]) => events.map(({ data }) => (JSON.parse(data) as { n: number }).n)
const growing = (events: readonly Stored[]) =>
  events.every((event, n) => n === 0 || event.position > events[n - 1]!.position)

/** Collects all events of an iterator. */
export const collect = async (pages: AsyncIterable<readonly Stored[]>): Promise<Stored[]> => {
  const events: Stored[] = []
  for await (const page of pages) events.push(...page)
  return events
}

const mine = (events: readonly Stored[], streams: ReadonlySet<string>) =>
  events.filter(({ stream }) => streams.has(stream))
const isConflict = (error: unknown) => isRefusal(error, 'write_conflict')
/** Expects the promise to be refused with this reason. */
export const refused = async (t: Test, promise: Promise<unknown>, reason: Reason): Promise<void> => {
  const outcome = await promise.then(
    () => 'no refusal',
    (error: unknown) => (error instanceof Refusal ? error.reason : error),
  )
  t.equal(outcome, reason)
}
const fresh = (category = 'test') => `${category}-${randomUUID()}`

/** Promise, and the function that resolves it. */
const held = () => {
  let go = () => {}
  return [new Promise<void>((told) => (go = told)), () => go()] as const
}

const follower = (log: EventLog, after: bigint) => {
  const stop = new AbortController()
  const seen: Stored[] = []
  const ended = (async () => {
    for await (const page of log.follow(after, stop.signal)) seen.push(...page)
  })()
  const until = (enough: () => boolean) => eventually(enough, 'what is followed')
  const close = async () => {
    stop.abort()
    await ended
  }
  return { seen, until, close }
}

/**
 * Contract of EventLog. Positions are only compared. `make` returns an empty or a shared store; each test has new
 * streams.
 */
export const logContract = (t: Test, make: (t: Test) => Promise<LogStore>): void => {
  const withLog = async (t: Test, body: (log: EventLog, store: LogStore) => Promise<void>) => {
    const store = await make(t)
    const log = await store.open()
    try {
      await body(log, store)
    } finally {
      await log.close()
    }
  }

  void t.test('a stream without events is empty', (t) =>
    withLog(t, async (log) => {
      t.same(await collect(log.read(fresh())), [])
      t.same(await collect(log.read(fresh(), 7n)), [])
    }),
  )

  void t.test('returns an event as appended, with stream, revision and position', (t) =>
    withLog(t, async (log) => {
      const stream = fresh()
      const given = { ...happened(1), type: 'Happened.v2', data: '{"text":"ünï ☃ 😀 \\u0000 \\"quoted\\"","n":1}' }
      const { revision, positions } = await log.append(stream, [given], 'none')
      t.equal(revision, 0n)
      t.equal(positions.length, 1)
      const expected = { ...given, stream, revision: 0n, position: positions[0]! }
      const [event] = await collect(log.read(stream))
      t.same(event, { ...expected, time: event!.time })
      t.ok(event!.time >= given.time, 'the time is never earlier than given')
      const found = (await collect(log.readAll(positions[0]! - 1n))).find(({ id }) => id === given.id)
      t.same(found, event)
    }),
  )

  void t.test('revisions count from 0 per stream, and positions grow over the log', (t) =>
    withLog(t, async (log) => {
      const [a, b] = [fresh(), fresh()]
      const first = await log.append(a, [happened(1), happened(2)], 'none')
      const other = await log.append(b, [happened(3)], 'none')
      const second = await log.append(a, [happened(4)], 1n)
      t.same([first.revision, other.revision, second.revision], [1n, 0n, 2n])
      const positions = [...first.positions, ...other.positions, ...second.positions]
      t.ok(positions.every((position, n) => position > (n === 0 ? 0n : positions[n - 1]!)))
      t.same(
        (await collect(log.read(a))).map(({ revision }) => revision),
        [0n, 1n, 2n],
      )
      t.same(numbers(await collect(log.read(a, 1n))), [2, 4])
      t.ok((await log.head()) >= second.positions[0]!)
    }),
  )

  void t.test('refuses an append at another revision and writes nothing', (t) =>
    withLog(t, async (log) => {
      const stream = fresh()
      const unwritten: readonly Expected[] = [0n, 3n]
      for (const expected of unwritten) await refused(t, log.append(stream, [happened(0)], expected), 'write_conflict')
      await log.append(stream, [happened(1), happened(2)], 'none')
      const moved: readonly Expected[] = ['none', 0n, 2n, 9n]
      for (const expected of moved)
        await refused(t, log.append(stream, [happened(3), happened(4)], expected), 'write_conflict')
      t.same(numbers(await collect(log.read(stream))), [1, 2])
    }),
  )

  void t.test('exactly one of many writers at a revision wins, the others get a conflict', (t) =>
    withLog(t, async (log) => {
      const stream = fresh()
      for (let round = 0; round < 5; round++) {
        const expected: Expected = round === 0 ? 'none' : BigInt(round - 1)
        const racers = Array.from({ length: 16 }, (_, n) => log.append(stream, [happened(n)], expected))
        const results = await Promise.allSettled(racers)
        t.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
        t.equal(results.filter((result) => result.status === 'rejected' && isConflict(result.reason)).length, 15)
      }
      t.equal((await collect(log.read(stream))).length, 5)
    }),
  )

  void t.test('writers that retry after conflicts all succeed without lost events', (t) =>
    withLog(t, async (log) => {
      const stream = fresh()
      const write = async (writer: number) => {
        for (let n = 0; n < 5; ) {
          const last = (await collect(log.read(stream))).at(-1)
          try {
            await log.append(stream, [happened(writer * 10 + n), happened(writer * 10 + n)], last?.revision ?? 'none')
            n++
          } catch (error) {
            if (!isConflict(error)) throw error
          }
        }
      }
      await Promise.all([1, 2, 3, 4].map(write))
      const events = await collect(log.read(stream))
      t.equal(events.length, 40)
      t.ok(events.every(({ revision }, n) => revision === BigInt(n)))
      for (const writer of [1, 2, 3, 4]) {
        const own = numbers(events).filter((n) => Math.floor(n / 10) === writer)
        t.same(
          own,
          [0, 0, 1, 1, 2, 2, 3, 3, 4, 4].map((n) => writer * 10 + n),
        )
      }
    }),
  )

  void t.test('repeating an append with the same ids returns the first answer', (t) =>
    withLog(t, async (log) => {
      const stream = fresh()
      const events = [happened(1), happened(2)]
      const first = await log.append(stream, events, 'none')
      t.same(await log.append(stream, events, 'none'), first)
      await log.append(stream, [happened(3)], 1n)
      const again = await log.append(stream, events, 'none')
      t.same([again.revision, again.positions], [first.revision, first.positions], 'also when others wrote behind it')
      t.same(numbers(await collect(log.read(stream))), [1, 2, 3])
    }),
  )

  void t.test('repeating an append with other data returns the first answer and keeps the first data', (t) =>
    withLog(t, async (log) => {
      const stream = fresh()
      const events = [happened(1), happened(2)]
      const first = await log.append(stream, events, 'none')
      const other = events.map(({ id }, n) => ({ ...happened(n + 8, id), type: 'Other', meta: '{"schema":2}' }))
      const stored = await collect(log.read(stream))
      for (const repeated of [other, other.slice(0, 1)]) {
        const { revision, positions } = await log.append(stream, repeated, 'none')
        t.same([revision, positions], [BigInt(repeated.length - 1), first.positions.slice(0, repeated.length)])
      }
      t.same(await collect(log.read(stream)), stored)
      t.same(numbers(stored), [1, 2])
    }),
  )

  void t.test('a read returns at most as many events as requested', (t) =>
    withLog(t, async (log) => {
      const stream = fresh()
      await log.append(
        stream,
        [1, 2, 3, 4].map((n) => happened(n)),
        'none',
      )
      t.same(numbers(await collect(log.read(stream, 1n, 2))), [2, 3])
      t.same(numbers(await collect(log.read(stream, 3n, 2))), [4])
    }),
  )

  void t.test('concurrent repeats of an append have one effect and one answer', (t) =>
    withLog(t, async (log) => {
      const stream = fresh()
      await log.append(stream, [happened(0)], 'none')
      const events = [happened(1), happened(2)]
      const answers = await Promise.all(Array.from({ length: 8 }, () => log.append(stream, events, 0n)))
      for (const { revision, positions } of answers)
        t.same([revision, positions], [answers[0]!.revision, answers[0]!.positions])
      t.same(numbers(await collect(log.read(stream))), [0, 1, 2])
    }),
  )

  void t.test('known ids at another place than after the expected revision are a conflict', (t) =>
    withLog(t, async (log) => {
      const stream = fresh()
      const [one, two, three] = [happened(1), happened(2), happened(3)]
      await log.append(stream, [one], 'none')
      await log.append(stream, [two], 0n)
      await refused(t, log.append(stream, [two], 'none'), 'write_conflict')
      await refused(t, log.append(stream, [two, three], 'none'), 'write_conflict')
      t.same(numbers(await collect(log.read(stream))), [1, 2])
    }),
  )

  void t.test('the same id in another stream is another event', (t) =>
    withLog(t, async (log) => {
      const event = happened(1)
      const [a, b] = [fresh(), fresh()]
      await log.append(a, [event], 'none')
      await log.append(b, [event], 'none')
      t.equal((await collect(log.read(b))).length, 1)
    }),
  )

  void t.test('returns long streams in pages on demand, complete and in order', (t) =>
    withLog(t, async (log) => {
      const stream = fresh()
      const before = await log.head()
      const total = 2500
      for (let n = 0; n < total; n += 500)
        await log.append(
          stream,
          Array.from({ length: 500 }, (_, k) => happened(n + k)),
          n === 0 ? 'none' : BigInt(n - 1),
        )
      const pages: number[] = []
      for await (const page of log.read(stream)) pages.push(page.length)
      t.ok(
        pages.length > 1 && pages.every((size) => size > 0 && size <= 1000),
        `pages of at most 1000 (${pages.join(', ')})`,
      )
      t.same(
        numbers(await collect(log.read(stream))),
        Array.from({ length: total }, (_, n) => n),
      )
      const all = mine(await collect(log.readAll(before)), new Set([stream]))
      t.equal(all.length, total)
      t.ok(growing(all))
      for await (const page of log.readAll(before)) {
        t.ok(page.length > 0, 'a read may be left after its first page')
        break
      }
    }),
  )

  void t.test('a page ends with the event that brings it to 4 MiB', (t) =>
    withLog(t, async (log) => {
      const stream = fresh()
      const before = await log.head()
      const large = (n: number): NewEvent => ({
        ...happened(n),
        data: JSON.stringify({ n, text: 'x'.repeat(1_000_000) }),
      })
      for (let n = 0; n < 12; n++) await log.append(stream, [large(n)], n === 0 ? 'none' : BigInt(n - 1))
      const sizeOf = (page: readonly Stored[]) =>
        page.reduce((sum, { data, meta }) => sum + data.length + meta.length, 0)
      const complete = async (what: string, pages: AsyncIterable<readonly Stored[]>) => {
        const events: Stored[] = []
        let most = 0
        for await (const page of pages) {
          most = Math.max(most, sizeOf(page.slice(0, -1)))
          events.push(...mine(page, new Set([stream])))
          if (events.length === 12) break
        }
        t.ok(most < 4 * 1_048_576, `${what}: ${most} characters before the last event of a page`)
        t.same(
          numbers(events),
          Array.from({ length: 12 }, (_, n) => n),
        )
      }
      await complete('read', log.read(stream))
      await complete('readAll', log.readAll(before))
      const stop = new AbortController()
      const arriving = log.follow(await log.head(), stop.signal)
      const [written, all] = held()
      await complete('follow', log.follow(before, stop.signal))
      const reading = (async () => {
        let pages = 0
        for await (const page of arriving) {
          pages++
          t.ok(sizeOf(page.slice(0, -1)) < 4 * 1_048_576, `${page.length} events that came while they were followed`)
          await written
          if (numbers(mine(page, new Set([stream]))).includes(23)) return pages
        }
        return pages
      })()
      await Promise.resolve()
      for (let n = 12; n < 24; n++) await log.append(stream, [large(n)], BigInt(n - 1))
      all()
      t.ok((await reading) > 1)
      stop.abort()
    }),
  )

  void t.test('readAll returns events after one position up to and including another', (t) =>
    withLog(t, async (log) => {
      const stream = fresh()
      const { positions } = await log.append(
        stream,
        [1, 2, 3, 4].map((n) => happened(n)),
        'none',
      )
      const own = new Set([stream])
      t.same(numbers(mine(await collect(log.readAll(positions[0]!, positions[2])), own)), [2, 3])
      t.same(numbers(mine(await collect(log.readAll(positions[3]!)), own)), [])
      t.same(await collect(log.readAll(await log.head())), [])
      const seen: Stored[] = []
      let appended = false
      for await (const page of log.readAll(positions[0]! - 1n)) {
        seen.push(...page)
        if (!appended) await log.append(stream, [happened(5)], 3n)
        appended = true
      }
      t.same(numbers(mine(seen, own)), [1, 2, 3, 4], 'the end is the head at the start of the read')
    }),
  )

  void t.test('finds an event by its position, and the first of all', (t) =>
    withLog(t, async (log) => {
      const [stream, other] = [fresh(), fresh()]
      const { positions } = await log.append(stream, [happened(1), happened(2)], 'none')
      const { positions: later } = await log.append(other, [happened(3)], 'none')
      const [one] = await collect(log.read(stream))
      t.same(await log.at(positions[0]!), one)
      t.equal((await log.at(later[0]!))?.stream, other)
      t.equal(await log.at(later[0]! + 1n), undefined, 'nothing is there yet')
      const first = await log.first()
      const [begin] = await collect(log.readAll(0n))
      t.same(first, begin)
    }),
  )

  void t.test('follow returns existing and new events without gap or duplicate', (t) =>
    withLog(t, async (log) => {
      const streams = Array.from({ length: 8 }, () => fresh())
      const own = new Set(streams)
      const before = await log.head()
      const early = follower(log, before)
      const [begun, begin] = held()
      const write = async (stream: string) => {
        for (let n = 0; n < 40; n++) {
          await log.append(stream, [happened(n), happened(n)], n === 0 ? 'none' : BigInt(n * 2 - 1))
          begin()
        }
      }
      const writing = Promise.all(streams.map(write))
      await begun
      const late = follower(log, before)
      await writing
      const total = streams.length * 80
      for (const { seen, until, close } of [early, late]) {
        await until(() => mine(seen, own).length >= total)
        await close()
        const events = mine(seen, own)
        t.equal(events.length, total)
        t.ok(growing(events))
        for (const stream of streams)
          t.ok(events.filter((event) => event.stream === stream).every(({ revision }, n) => revision === BigInt(n)))
      }
    }),
  )

  void t.test('a slow follower gets everything in pages', (t) =>
    withLog(t, async (log) => {
      const stream = fresh()
      const stop = new AbortController()
      const seen: Stored[] = []
      const after = await log.head()
      const [written, all] = held()
      const reading = (async () => {
        for await (const page of log.follow(after, stop.signal)) {
          t.ok(page.length <= 1000)
          seen.push(...page.filter((event) => event.stream === stream))
          await written
          if (seen.length >= 3000) stop.abort()
        }
      })()
      for (let n = 0; n < 3000; n += 250)
        await log.append(
          stream,
          Array.from({ length: 250 }, (_, k) => happened(n + k)),
          n === 0 ? 'none' : BigInt(n - 1),
        )
      all()
      await reading
      t.same(
        numbers(seen),
        Array.from({ length: 3000 }, (_, n) => n),
      )
    }),
  )

  void t.test('an aborted follow ends at once, also while idle', (t) =>
    withLog(t, async (log) => {
      const before = await log.head()
      await log.append(fresh(), [happened(1)], 'none')
      const idle = follower(log, await log.head())
      const busy = follower(log, before)
      await busy.until(() => busy.seen.length > 0)
      await busy.close()
      await idle.close()
      const aborted = AbortSignal.abort()
      for await (const _ of log.follow(0n, aborted)) t.fail('nothing comes after the abort')
      t.same(idle.seen, [])
    }),
  )

  void t.test('keeps acknowledged events over a reopen and continues', async (t) => {
    const store = await make(t)
    const stream = fresh()
    let log = await store.open()
    const events = [happened(1), happened(2)]
    const first = await log.append(stream, events, 'none')
    const head = await log.head()
    await log.close()
    log = await store.open()
    t.same(numbers(await collect(log.read(stream))), [1, 2])
    t.ok((await log.head()) >= head)
    const again = await log.append(stream, events, 'none')
    t.same(
      [again.revision, again.positions],
      [first.revision, first.positions],
      'the repeated append is known after a restart',
    )
    await refused(t, log.append(stream, [happened(3)], 'none'), 'write_conflict')
    const next = await log.append(stream, [happened(3)], 1n)
    t.equal(next.revision, 2n)
    t.ok(next.positions[0]! > first.positions[1]!)
    await log.close()
  })

  void t.test('a closed log refuses calls', async (t) => {
    const log = await (await make(t)).open()
    await log.close()
    await refused(t, log.append(fresh(), [happened(1)], 'none'), 'backend_unavailable')
    await refused(t, log.head(), 'backend_unavailable')
  })
}

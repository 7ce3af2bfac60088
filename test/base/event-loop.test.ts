import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import {
  arrivals,
  backgroundSlicer,
  forEachSliced,
  measureSlicesBy,
  sliced,
  sortSliced,
  timeSlicer,
} from '../../src/base/event-loop.ts'

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))
/** Clock for the slices of this process. */
let elapsed = 0
measureSlicesBy(() => elapsed)

await t.test('work gives way to other work when its time slice ends, not before', async (t) => {
  for (const [slice, begin] of [
    [5, () => timeSlicer()],
    [2, () => timeSlicer(2)],
  ] as const) {
    const pause = begin()
    for (const nth of ['first', 'second', 'third']) {
      elapsed += slice - 1
      t.equal(pause(), undefined, `the ${nth} slice has a millisecond left of ${slice}`)
      elapsed += 1
      const paused = pause()
      t.ok(paused, `the ${nth} slice of ${slice} ms is over`)
      // Work of others does not count for the next slice.
      elapsed += 5 * slice
      await paused
    }
  }
})

await t.test('items are processed in time slices, each once, until the callback stops it', async (t) => {
  const worked: number[] = []
  const work = (until: number) => (item: number) => {
    elapsed += 2
    worked.push(item)
    return item < until
  }
  const items = Array.from({ length: 8 }, (_, n) => n)

  let waiting = forEachSliced(items, work(Infinity))
  t.strictSame(worked, [0, 1, 2], 'a slice ends with the item that fills it')
  await waiting
  t.strictSame(worked.splice(0), items)

  waiting = forEachSliced(items, work(4))
  await waiting
  t.strictSame(worked.splice(0), [0, 1, 2, 3, 4], 'what comes behind the last one is left')
  t.equal(forEachSliced(items, work(1)), undefined, 'what is short is done at once')
  t.strictSame(worked, [0, 1])
})

await t.test(
  'pages are passed in parts that end with a time slice, and a stopped loop closes the source',
  async (t) => {
    const before = elapsed
    measureSlicesBy(() => elapsed)
    let isClosed = false
    const pages = async function* () {
      try {
        for (const first of [0, 8, 16]) yield Array.from({ length: 8 }, (_, n) => first + n)
      } finally {
        isClosed = true
      }
    }
    const parts: number[][] = []
    const take = async (until: number) => {
      for await (const part of sliced(pages())) {
        parts.push([])
        for (const item of part) {
          elapsed += 2
          parts.at(-1)!.push(item)
          if (item === until) return
        }
      }
    }
    await take(Infinity)
    t.strictSame(
      parts.splice(0),
      [[0, 1, 2], [3, 4, 5], [6, 7], [8], [9, 10, 11], [12, 13, 14], [15], [16, 17], [18, 19, 20], [21, 22, 23], []],
      'the slice of a page goes on with the next one',
    )
    isClosed = false
    await take(4)
    t.strictSame(
      [parts, isClosed],
      [
        [
          [0, 1, 2],
          [3, 4],
        ],
        true,
      ],
    )
    elapsed = before
  },
)

await t.test('a sort in time slices gives the same order as a stable sort', async (t) => {
  const isBefore = (one: readonly number[], other: readonly number[]) => one[0]! < other[0]!
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(50), { maxLength: 3_000 }), async (numbers) => {
      const items = numbers.map((number, n) => [number, n] as const)
      assert.deepEqual(
        await sortSliced(items, isBefore),
        items.toSorted(([one], [other]) => one - other),
      )
    }),
    { numRuns: 50 },
  )
  t.pass('the same')
})

await t.test('a long sort lets other work run, and a short one does not wait', async (t) => {
  const before = elapsed
  measureSlicesBy(() => (elapsed += 1_000))
  let [turns, over, most, compared] = [0, false, 0, 0]
  const next = () => {
    turns++
    most = Math.max(most, compared)
    compared = 0
    if (!over) setImmediate(next)
  }
  const isBefore = (one: number, other: number) => {
    compared++
    return one < other
  }
  next()
  const items = Array.from({ length: 20_000 }, (_, n) => (n * 7_919) % 20_000)
  const all = await sortSliced(items, isBefore)
  over = true
  measureSlicesBy(() => elapsed)
  t.ok(turns > 200, `${turns} turns`)
  t.ok(most <= 12_000, `${most} comparisons in one turn`)
  t.strictSame([all[0], all.at(-1), all.length], [0, 19_999, 20_000])
  t.strictSame(await sortSliced([], isBefore), [])
  elapsed = before
})

await t.test('all work of one turn of the event loop shares a time slice; the next turn has a new slice', async (t) => {
  measureSlicesBy(() => elapsed)
  const first = timeSlicer()
  elapsed += 3
  t.equal(first(), undefined)
  const second = timeSlicer()
  elapsed += 1
  t.equal(second(), undefined, 'a millisecond is left for all')
  await nextTurn()
  t.equal(first(), undefined)
  elapsed += 4
  t.equal(second(), undefined, 'another slice')
  elapsed += 1
  const paused = second()
  t.ok(paused, 'work that began late yields')
  const third = timeSlicer()
  t.equal(third(), undefined, 'work that has only begun does not')
  elapsed += 0.1
  t.ok(third(), 'unless it takes longer than a tenth of a millisecond')
  await nextTurn()
  t.ok(first(), 'in the turns of everything else too')
  await paused
  t.equal(first(), undefined, 'a new slice')
})

/** Work whose steps each take a whole slice. */
const working = async (name: string, steps: number, order: string[]) => {
  const pause = timeSlicer()
  for (let n = 0; n < steps; n++) {
    elapsed += 5
    await pause()
    order.push(name)
  }
}

await t.test('waiting tasks resume one at a time, and short tasks overtake long ones', async (t) => {
  measureSlicesBy(() => elapsed)
  const order: string[] = []
  const names = Array.from({ length: 10 }, (_, n) => `long ${n}`)
  const long = Promise.all(names.map((name) => working(name, 4, order)))
  for (let turns = 1; order.length < 20; turns++) {
    await nextTurn()
    if (order.length * 8 > turns) t.fail(`${order.length} steps in ${turns} turns`)
  }
  t.strictSame(new Set(order), new Set(names), 'each has had a slice')
  const before = order.length
  await working('short', 1, order)
  t.ok(order.indexOf('short') <= before + 1, 'short work waits for one of the ten at most')
  await long
  t.equal(order.length, 41)
})

await t.test('a waiting task resumes sooner if other work uses more than two time slices', async (t) => {
  measureSlicesBy(() => elapsed)
  const turnsUntilResumed = async (ms: number) => {
    const order: string[] = []
    const work = working('work', 1, order)
    let turns = 0
    for (; order.length === 0; turns++) {
      elapsed += ms
      await nextTurn()
    }
    await work
    return turns
  }
  t.equal(await turnsUntilResumed(1), 8)
  t.equal(await turnsUntilResumed(4), 3)
  t.equal(await turnsUntilResumed(20), 1)
})

await t.test('background work has a third of the time while requests arrive, and all of it otherwise', async (t) => {
  const WORKERS = 4
  /** Number of milliseconds that each worker worked in a second. */
  const workedWith = async (isServing: boolean) => {
    const [begin, sleeping] = [elapsed, new Set<{ readonly due: number; readonly wake: () => void }>()]
    const rest = (ms: number) =>
      new Promise<void>((wake) => void sleeping.add({ due: elapsed + ms, wake: () => wake() }))
    measureSlicesBy(() => elapsed, rest)
    const worked = Array<number>(WORKERS).fill(0)
    let longest = 0
    const work = async (n: number) => {
      const pause = backgroundSlicer()
      for (let stretch = 0; elapsed < begin + 1_000; ) {
        elapsed++
        worked[n]!++
        longest = Math.max(longest, ++stretch)
        const paused = pause()
        if (!paused) continue
        stretch = 0
        await paused
      }
    }
    if (isServing) arrivals.count++
    const workers = Promise.all(worked.map((_, n) => work(n)))
    for (let before = elapsed; elapsed < begin + 1_000; before = elapsed) {
      if (isServing) arrivals.count++
      for (const sleeper of sleeping)
        if (sleeper.due <= elapsed) {
          sleeping.delete(sleeper)
          sleeper.wake()
        }
      for (let n = 0; n < 20; n++) await nextTurn()
      if (elapsed === before) elapsed++
    }
    for (const { wake } of sleeping) wake()
    await workers
    return { all: worked.reduce((sum, ms) => sum + ms, 0), least: Math.min(...worked), longest }
  }
  const [busy, idle] = [await workedWith(true), await workedWith(false)]
  t.ok(busy.all > 250 && busy.all < 350, `${busy.all} ms of 1,000 with requests`)
  t.ok(busy.least > busy.all / WORKERS / 2, 'each has its share')
  t.equal(busy.longest, 2)
  t.ok(idle.all > 950, `${idle.all} ms without requests`)
  t.equal(idle.longest, 5)
})

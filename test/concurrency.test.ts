import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import {
  gathered,
  inSlices,
  keyedQueue,
  measureSlicesBy,
  pacer,
  semaphore,
  sortedInSlices,
} from '../src/concurrency.ts'
import { noted } from './noted.ts'
import { virtualClock } from './virtual-clock.ts'

const held = () => {
  let free = () => {}
  const wait = new Promise<void>((resolve) => (free = resolve))
  return { wait, free }
}
const soon = () => new Promise<void>((resolve) => setImmediate(resolve))
/** Slices of this process are measured by it. */
let elapsed = 0
measureSlicesBy(() => elapsed)

await t.test('one at a time of a key, in the order given, whatever becomes of those before', async (t) => {
  const inTurn = keyedQueue()
  const { wait, free } = held()
  const done: string[] = []
  const first = inTurn('a', async () => {
    await wait
    done.push('first')
    throw new Error('fails')
  })
  const second = inTurn('a', async () => done.push('second'))
  await inTurn('b', async () => done.push('other key'))
  t.strictSame(done, ['other key'])
  free()
  await t.rejects(first, { message: 'fails' })
  await second
  t.strictSame(done, ['other key', 'first', 'second'])
})

await t.test('a place that is left goes to the first of the line', async (t) => {
  const places = semaphore(2)
  t.equal(places.enter(), undefined)
  t.equal(places.enter(), undefined)
  const order: string[] = []
  const third = places.enter()!.then(() => order.push('third'))
  const fourth = places.enter()!.then(() => order.push('fourth'))
  await soon()
  t.strictSame(order, [])
  places.leave()
  await third
  t.strictSame(order, ['third'])
  places.leave()
  await fourth
  places.leave()
  t.equal(places.enter(), undefined, 'nobody waits any more')
})

await t.test('who has no place within its time leaves the line, and takes none that is left later', async (t) => {
  const clock = virtualClock()
  const places = semaphore(1)
  const done: string[] = []
  const work = (name: string, takes: number) => async () => {
    await clock.sleep(takes)
    done.push(name)
    return name
  }
  const noPlace = (): never => {
    throw new Error('no place')
  }
  const first = noted(places.holdWithin(clock, 1_000, work('first', 1_500), noPlace))
  const late = noted(places.holdWithin(clock, 1_000, work('late', 1), noPlace))
  await clock.advance(600)
  const intime = noted(places.holdWithin(clock, 1_000, work('in time', 1), noPlace))
  await clock.advance(399)
  t.strictSame([first, late, intime], [[], [], []])
  await clock.advance(1)
  t.match(late, [{ message: 'no place' }])
  await clock.advance(500)
  t.strictSame([first, intime], [['first'], []])
  await clock.advance(1)
  t.strictSame([intime, done], [['in time'], ['first', 'in time']])
  t.equal(places.enter(), undefined, 'the place is free again')
  t.strictSame(clock.waiting(), [])
})

await t.test('so much work at once as there are places, and a fault gives its place back', async (t) => {
  const places = semaphore(2)
  let [running, most] = [0, 0]
  const results = await Promise.allSettled(
    Array.from({ length: 10 }, (_, n) =>
      places.hold(async () => {
        most = Math.max(most, ++running)
        await soon()
        running--
        if (n % 3 === 0) throw new Error('fails')
        return n
      }),
    ),
  )
  t.equal(most, 2)
  t.equal(results.filter(({ status }) => status === 'rejected').length, 4)
  t.equal(places.enter(), undefined)
  t.equal(places.enter(), undefined)
})

await t.test(
  'what comes while a write is under way is written together, and a failed write is told to its own alone',
  async (t) => {
    const { wait, free } = held()
    const groups: string[][] = []
    const put = gathered<string>(async (items) => {
      groups.push([...items])
      await wait
      if (items.includes('bad')) throw new Error('fails')
    })
    const first = put('a')
    await soon()
    const [second, third] = [put('bad'), put('b')]
    t.strictSame(groups, [['a']])
    free()
    await first
    await t.rejects(second, { message: 'fails' })
    await t.rejects(third, { message: 'fails' })
    await put('c')
    t.strictSame(groups, [['a'], ['bad', 'b'], ['c']])
  },
)

await t.test('work steps aside once its slice is over, not before, and then has another', async (t) => {
  for (const [slice, begin] of [
    [5, () => pacer()],
    [2, () => pacer(2)],
  ] as const) {
    const pause = begin()
    for (const nth of ['first', 'second', 'third']) {
      elapsed += slice - 1
      t.equal(pause(), undefined, `the ${nth} slice has a millisecond left of ${slice}`)
      elapsed += 1
      const paused = pause()
      t.ok(paused, `the ${nth} slice of ${slice} ms is over`)
      // What others do meanwhile is not of the next slice.
      elapsed += 5 * slice
      await paused
    }
  }
})

await t.test('items are worked one by one in slices, each once, until one says that it is enough', async (t) => {
  const worked: number[] = []
  const work = (until: number) => (item: number) => {
    elapsed += 2
    worked.push(item)
    return item < until
  }
  const items = Array.from({ length: 8 }, (_, n) => n)

  let waiting = inSlices(items, work(Infinity))
  t.strictSame(worked, [0, 1, 2], 'a slice ends with the item that fills it')
  await waiting
  t.strictSame(worked.splice(0), items)

  waiting = inSlices(items, work(4))
  await waiting
  t.strictSame(worked.splice(0), [0, 1, 2, 3, 4], 'what comes behind the last one is left')
  t.equal(inSlices(items, work(1)), undefined, 'what is short is done at once')
  t.strictSame(worked, [0, 1])
})

await t.test(
  'sorted in slices as it is sorted at once, whatever the length, and those that are alike as they stood',
  async (t) => {
    const isBefore = (one: readonly number[], other: readonly number[]) => one[0]! < other[0]!
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(50), { maxLength: 3_000 }), async (numbers) => {
        const items = numbers.map((number, n) => [number, n] as const)
        assert.deepEqual(
          await sortedInSlices(items, isBefore),
          items.toSorted(([one], [other]) => one - other),
        )
      }),
      { numRuns: 50 },
    )
    t.pass('the same')
  },
)

await t.test('others are served while much is sorted, and nobody waits for what is short', async (t) => {
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
  const all = await sortedInSlices(items, isBefore)
  over = true
  measureSlicesBy(() => elapsed)
  t.ok(turns > 200, `${turns} turns`)
  t.ok(most <= 12_000, `${most} comparisons in one turn`)
  t.strictSame([all[0], all.at(-1), all.length], [0, 19_999, 20_000])
  t.strictSame(await sortedInSlices([], isBefore), [])
  elapsed = before
})

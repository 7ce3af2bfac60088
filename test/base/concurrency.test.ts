import t from 'tap'
import { keyedQueue, semaphore, sharedCalls } from '../../src/base/concurrency.ts'
import { noted } from '../noted.ts'
import { virtualClock } from '../virtual-clock.ts'

const held = () => {
  let free = () => {}
  const wait = new Promise<void>((resolve) => (free = resolve))
  return { wait, free }
}
const soon = () => new Promise<void>((resolve) => setImmediate(resolve))

await t.test('tasks with the same key run one after another, in order, even after failures', async (t) => {
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

await t.test('callers during a call share the next one, which begins after their request', async (t) => {
  const shared = sharedCalls<number>()
  const waits = [held(), held()]
  let begun = 0
  const call = async () => {
    const mine = begun++
    await waits[mine]?.wait
    if (mine === 0) throw new Error('fails')
    return mine
  }
  const first = shared('a', call)
  const [second, third] = [shared('a', call), shared('a', call)]
  t.equal(begun, 1)
  waits[0]!.free()
  await t.rejects(first, { message: 'fails' })
  waits[1]!.free()
  t.strictSame(await Promise.all([second, third]), [1, 1])
  t.equal(await shared('a', call), 2, 'a later call is its own')
})

await t.test('a free worker takes the task that has waited longest', async (t) => {
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

await t.test('a task that times out leaves the queue and never runs', async (t) => {
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

await t.test('as many tasks run at once as allowed, and a failed task does not block another one', async (t) => {
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

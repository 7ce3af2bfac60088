import { getEventListeners } from 'node:events'
import fc from 'fast-check'
import t from 'tap'
import { isRefusal, Refusal } from '../../src/base/errors.ts'
import { fairGate, type Lease, type Taker } from '../../src/base/gate.ts'
import { byteBudget } from '../../src/http/memory/room.ts'
import { noted } from '../noted.ts'
import { virtualClock } from '../virtual-clock.ts'

const MOST = 1600
const who = (holder: string): Taker => ({ holder, published: false })
const anybody = (holder: string): Taker => ({ holder, published: true })

const rig = () => {
  const clock = virtualClock()
  const budget = byteBudget(MOST, clock)
  const served: string[] = []
  const refused: string[] = []
  const leases = new Map<string, Lease>()
  /** Takes bytes and records under a name whether it is served or refused. */
  const take = (name: string, taker: Taker, bytes: number): void => {
    const got = (lease: Lease) => {
      served.push(name)
      leases.set(name, lease)
    }
    const not = (error: unknown) => {
      if (!isRefusal(error, 'busy')) throw error
      refused.push(name)
    }
    try {
      const lease = budget.take(taker, bytes)
      if (lease instanceof Promise) lease.then(got, not)
      else got(lease)
    } catch (error) {
      not(error)
    }
  }
  const free = async (name: string) => {
    leases.get(name)!.free()
    await clock.settle()
  }
  return { clock, budget, served, refused, take, free, leases }
}

await t.test('one client may use a quarter of the memory budget, and does not block others', async (t) => {
  const { budget, served, take, free } = rig()
  take('a1', who('a'), 400)
  take('a2', who('a'), 1)
  for (const name of ['b', 'c', 'd']) take(name, who(name), 400)
  t.strictSame(served, ['a1', 'b', 'c', 'd'])
  t.strictSame([budget.held(), budget.waiting()], [1600, 1])
  await free('b')
  t.equal(budget.waiting(), 1, 'its own share is full')
  await free('a1')
  t.strictSame(served, ['a1', 'b', 'c', 'd', 'a2'])
  t.equal(budget.held(), 801)
})

await t.test('one client alone may exceed its share of memory, and even the whole budget', (t) => {
  const { budget, served, take } = rig()
  take('large', who('a'), 1000)
  take('more', who('a'), 1)
  take('other', who('b'), 601)
  take('fits', who('b'), 600)
  t.strictSame(served, ['large', 'fits'])
  t.equal(budget.takeNow(who('c'), 1), undefined)
  const alone = byteBudget(MOST, virtualClock())
  t.ok(alone.takeNow(who('a'), 9999))
  t.equal(alone.takeNow(who('b'), 1), undefined)
  t.end()
})

await t.test('published tokens share a quarter of the budget, and each gets at most a quarter of that', (t) => {
  const { served, take } = rig()
  for (const name of ['p', 'q', 'r', 's']) {
    take(`${name}1`, anybody(name), 100)
    take(`${name}2`, anybody(name), 1)
  }
  take('fifth', anybody('fifth'), 1)
  for (const name of ['a', 'b', 'c']) take(name, who(name), 400)
  t.strictSame(served, ['p1', 'q1', 'r1', 's1', 'a', 'b', 'c'])
  t.end()
})

await t.test('clients take turns, however many requests each of them has', async (t) => {
  const { served, take, free } = rig()
  for (const name of ['w', 'x', 'y', 'z']) take(name, who(name), 400)
  for (const name of ['a1', 'a2', 'a3', 'a4']) take(name, who('a'), 100)
  take('b1', who('b'), 100)
  take('c1', who('c'), 100)
  take('b2', who('b'), 100)
  await free('w')
  t.strictSame(served.slice(4), ['a1', 'b1', 'c1', 'a2'])
  await free('x')
  t.strictSame(served.slice(8), ['b2', 'a3', 'a4'])
})

await t.test('a large request does not block a smaller one', async (t) => {
  const { served, take, free } = rig()
  for (const name of ['w', 'x', 'y', 'z']) take(name, who(name), 390)
  take('much', who('a'), 380)
  take('less', who('b'), 40)
  t.strictSame(served, ['w', 'x', 'y', 'z', 'less'])
  await free('w')
  t.equal(served.at(-1), 'much')
})

await t.test('a request waits at most five seconds for memory, and is refused if too many wait', async (t) => {
  const { clock, budget, served, refused, take, free } = rig()
  for (const name of ['w', 'x', 'y', 'z']) take(name, who(name), 400)
  take('late', who('a'), 1)
  await clock.advance(4_999)
  t.strictSame(refused, [])
  await clock.advance(1)
  t.strictSame([refused, budget.refused(), budget.waiting()], [['late'], 1, 0])
  for (let n = 0; n < 65; n++) take(`many ${n}`, who('a'), 1)
  t.strictSame([refused.slice(1), budget.waiting()], [['many 64'], 64])
  for (let n = 0; n < 1_000; n++) take(`crowd ${n}`, who(`crowd ${n}`), 1)
  t.strictSame([budget.waiting(), refused.length], [1024, 2 + 40])
  await free('w')
  t.equal(served.length, 4 + 400)
  t.strictSame(clock.waiting().length, 1024 - 400, 'who was served has no time limit any more')
})

await t.test('the memory reserved for a request is adjusted to the bytes that it uses', async (t) => {
  const { budget, served, take, free, leases } = rig()
  take('c', who('c'), 1)
  take('a', who('a'), 100)
  const lease = leases.get('a')!
  t.ok(lease.resize(1000), 'what it has itself is no reason')
  take('b', who('b'), 601)
  t.notOk(lease.resize(1601))
  t.equal(lease.weight(), 1000)
  lease.hold(1601)
  t.equal(budget.held(), 1602, 'what is there already is counted, room or not')
  lease.resize(998)
  await new Promise(setImmediate)
  t.strictSame(served, ['c', 'a', 'b'], 'what is given back serves who waits')
  await free('a')
  await free('a')
  lease.hold(500)
  t.ok(lease.resize(5000))
  t.equal(budget.held(), 602, 'what was freed takes nothing any more')
  t.equal(budget.refused(), 0)
})

type Step = { readonly holder: number; readonly bytes: number; readonly published: boolean; readonly free: number }
const step: fc.Arbitrary<Step> = fc.record({
  holder: fc.nat(5),
  bytes: fc.integer({ min: 1, max: 700 }),
  published: fc.boolean(),
  free: fc.nat(20),
})

await t.test('the memory budget is never exceeded, and a request that fits in it does not wait', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const { clock, budget, served, refused, take, free, leases } = rig()
      const held = () => [...leases.values()].reduce((sum, lease) => sum + lease.weight(), 0)
      for (const [n, { holder, bytes, published, free: freed }] of steps.entries()) {
        take(String(n), { holder: `${published}${holder}`, published }, bytes)
        await clock.settle()
        const name = served[freed]
        if (name !== undefined) await free(name)
        if (budget.held() > MOST || held() !== budget.held()) return false
      }
      for (let n = 0; n < served.length; n++) await free(served[n]!)
      return budget.held() === 0 && budget.waiting() === 0 && served.length + refused.length === steps.length
    }),
    { numRuns: 200 },
  )
  t.pass()
})

/** Tasks that end on demand. `begun` lists the started tasks in order. */
const tasks = (limits: { readonly total: number; readonly waiting: number }) => {
  const gate = fairGate({ ...limits, refused: () => new Refusal('orchestrator_unavailable') })
  const begun: string[] = []
  const ends: (() => void)[] = []
  const enter = (holder: string, name: string, signal?: AbortSignal) => {
    const work = async () => {
      begun.push(name)
      await new Promise<void>((resolve) => ends.push(resolve))
      return name
    }
    return gate.run(work, { holder }, signal).catch((error: { reason: string }) => error.reason)
  }
  /** Ends the oldest running task, so that another can start. */
  const end = async () => {
    ends.shift()!()
    await soon()
  }
  return { begun, enter, end }
}
const soon = () => new Promise<void>((resolve) => setImmediate(resolve))

await t.test('clients take turns, however many tasks each of them has in the queue', async (t) => {
  const { begun, enter, end } = tasks({ total: 1, waiting: 10 })
  const all = [...'abcd'].map((name) => enter('many', name))
  all.push(enter('few', 'x'), enter('one', 'y'), enter('few', 'z'))
  await soon()
  for (let n = 0; n < 7; n++) await end()
  t.strictSame(begun, ['a', 'b', 'x', 'y', 'c', 'z', 'd'])
  t.strictSame(await Promise.all(all), ['a', 'b', 'c', 'd', 'x', 'y', 'z'])
})

await t.test('a task is refused if the queue is full or its signal aborts, and then no longer counts', async (t) => {
  const { begun, enter, end } = tasks({ total: 1, waiting: 2 })
  const first = enter('a', 'first')
  const gone = new AbortController()
  const late = enter('a', 'late', gone.signal)
  const stays = new AbortController()
  const second = enter('b', 'second', stays.signal)
  t.equal(await enter('c', 'too many'), 'orchestrator_unavailable')
  gone.abort()
  t.equal(await late, 'orchestrator_unavailable')
  const third = enter('c', 'third')
  await soon()
  for (let n = 0; n < 3; n++) await end()
  t.strictSame(await Promise.all([first, second, third]), ['first', 'second', 'third'])
  t.strictSame(begun, ['first', 'second', 'third'])
  for (const { signal } of [gone, stays])
    t.same(getEventListeners(signal, 'abort'), [], 'who does not wait any more hears of no end of the wait')
})

await t.test('a task that times out leaves the queue and never runs', async (t) => {
  const clock = virtualClock()
  const gate = fairGate({ total: 1, within: { clock, ms: 1_000 }, refused: () => new Error('no place') })
  const done: string[] = []
  const work = (name: string, takes: number) => async () => {
    await clock.sleep(takes)
    done.push(name)
    return name
  }
  const first = noted(gate.run(work('first', 1_500)))
  const late = noted(gate.run(work('late', 1)))
  await clock.advance(600)
  const intime = noted(gate.run(work('in time', 1)))
  await clock.advance(399)
  t.strictSame([first, late, intime], [[], [], []])
  await clock.advance(1)
  t.match(late, [{ message: 'no place' }])
  await clock.advance(500)
  t.strictSame([first, intime], [['first'], []])
  await clock.advance(1)
  t.strictSame([intime, done], [['in time'], ['first', 'in time']])
  t.strictSame([gate.held(), gate.refused(), clock.waiting()], [0, 1, []])
})

await t.test('as many tasks run at once as allowed, and a failed task does not block another one', async (t) => {
  const gate = fairGate({ total: 2 })
  let [running, most] = [0, 0]
  const results = await Promise.allSettled(
    Array.from({ length: 10 }, (_, n) =>
      gate.run(async () => {
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
  t.equal(gate.held(), 0)
})

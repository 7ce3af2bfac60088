import type { Db } from 'mongodb'
import { MongoServerError } from 'mongodb'
import t from 'tap'
import { mongoCalls } from '../../../src/adapters/mongodb/calls.ts'
import { mongoLease } from '../../../src/adapters/mongodb/open.ts'
import { virtualClock } from '../../virtual-clock.ts'

const TTL = 600
type Fields = Readonly<Record<string, string | number>>

/** A document of a collection that instances update on one clock. Each answer takes `slow` ms. */
const world = () => {
  const clock = virtualClock()
  let stored: Fields | undefined
  const asked: string[] = []
  const store = { slow: 0, lost: false, asked }
  const answered = async <T>(what: string, work: () => T): Promise<T> => {
    asked.push(`${what} ${clock.monotonic()}`)
    if (store.lost) throw new Error('the connection is lost')
    const answer = work()
    if (store.slow > 0) await clock.sleep(store.slow)
    return answer
  }
  const leases = {
    findOne: () => answered('find', () => stored && { ...stored }),
    insertOne: (lease: Fields) =>
      answered('insert', () => {
        if (stored) throw new MongoServerError({ message: 'duplicate', code: 11000 })
        stored = lease
      }),
    updateOne: (where: Fields, { $set = {}, $inc = {} }: { $set?: Fields; $inc?: Readonly<Record<string, number>> }) =>
      answered('update', () => {
        const [before] = [stored]
        if (!before || Object.entries(where).some(([name, value]) => before[name] !== value)) return { matchedCount: 0 }
        const more = Object.entries($inc).map(([name, by]) => [name, Number(before[name]) + by] as const)
        stored = { ...before, ...$set, ...Object.fromEntries(more) }
        return { matchedCount: 1 }
      }),
  }
  const instance = () => {
    const calls = mongoCalls(clock)
    return {
      lose: () => calls.close(async () => undefined),
      lease: mongoLease({ collection: () => leases } as unknown as Db, calls, clock, 'follower', TTL),
    }
  }
  return { clock, store, instance }
}

await t.test('a lease is renewed at each third of its length', async (t) => {
  const { clock, store, instance } = world()
  const { lease } = instance()
  await clock.settle()
  t.ok(lease.held())
  t.same(store.asked, ['find 0', 'insert 0', 'find 0', 'update 0'])
  store.asked.length = 0
  await clock.advance(199)
  t.same(store.asked, [])
  await clock.advance(1)
  t.same(store.asked, ['update 200'])
  await clock.advance(400)
  t.same(store.asked, ['update 200', 'update 400', 'update 600'])
  await lease.close()
  t.same(clock.waiting(), [])
  t.same(store.asked.at(-1), 'update 600', 'and given up with one more, in the same moment')
})

await t.test('a lease begins when its request is sent, however late the answer arrives', async (t) => {
  const { clock, store, instance } = world()
  const { lease, lose } = instance()
  await clock.advance(200)
  store.slow = 150
  await clock.advance(200)
  t.ok(lease.held())
  await clock.advance(150)
  await lose()
  await clock.advance(449)
  t.ok(lease.held(), '599 ms after it was sent')
  await clock.advance(1)
  t.notOk(lease.held(), '600 ms after it was sent')
})

for (const [after, taken] of [
  [750, false],
  [751, true],
] as const)
  await t.test(
    `after ${after} ms without a renewal another instance ${taken ? 'takes' : 'does not take'} a lease of 600 ms`,
    async (t) => {
      const { clock, store, instance } = world()
      const first = instance()
      await clock.settle()
      const second = instance()
      await clock.settle()
      t.same([first.lease.held(), second.lease.held()], [true, false])
      await first.lose()
      await clock.advance(599)
      // The second instance requests the lease at 600 and receives the answer later.
      store.slow = after - 600
      store.asked.length = 0
      await clock.advance(after - 599)
      t.notOk(first.lease.held())
      t.same(store.asked, taken ? ['find 600', `update ${after}`] : ['find 600'])
      store.slow = 0
      await clock.advance(400)
      t.ok(second.lease.held(), 'with its next look at the latest')
    },
  )

await t.test('an instance that sees another one renew the lease begins its wait again', async (t) => {
  const { clock, instance } = world()
  const [first, second] = [instance(), instance()]
  await clock.advance(1_000)
  await first.lose()
  await clock.advance(799)
  t.notOk(second.lease.held(), 'it saw one at 1000')
  await clock.advance(1)
  t.ok(second.lease.held())
})

/** An instance that gave up its lease at its look at 200 ms, and is able to hold it again. `lost`: without an answer. */
const afterGivingUp = async (lost: boolean) => {
  const { clock, store, instance } = world()
  const { lease } = instance()
  let able = true
  lease.onlyWhile(() => able)
  await clock.settle()
  able = false
  store.lost = lost
  await clock.advance(200)
  store.lost = false
  able = true
  return { clock, store, lease }
}

await t.test('an instance that gave up a lease takes it again after half the length of the lease', async (t) => {
  const { clock, store, lease } = await afterGivingUp(false)
  store.asked.length = 0
  await clock.advance(399)
  t.same([lease.held(), store.asked], [false, []], 'while each other instance looks for it once')
  await clock.advance(1)
  t.ok(lease.held())
  t.same(store.asked, ['find 600', 'update 600'])
})

await t.test(
  'an instance takes a lease that still carries its own name without the wait for another one',
  async (t) => {
    const { clock, lease } = await afterGivingUp(true)
    await clock.advance(400)
    t.ok(lease.held())
  },
)

await t.test('no further request for a lease is sent until a late answer arrives', async (t) => {
  const { clock, store, instance } = world()
  const { lease } = instance()
  await clock.settle()
  store.asked.length = 0
  store.slow = 500
  await clock.advance(699)
  t.same(store.asked, ['update 200'])
  await clock.advance(101)
  t.same(store.asked, ['update 200', 'update 800'])
  t.notOk(lease.held(), 'the one of 200 is over at 800')
})

import { MongoClient } from 'mongodb'
import t, { type Test } from 'tap'
import type { View } from '../../../src/projections/views.ts'
import { checkpointAt } from '../../contracts/views.ts'
import { virtualClock } from '../../virtual-clock.ts'
import { eventually } from '../../wait.ts'
import { ownMongo } from '../servers.ts'
import { database, restingOn } from './store.ts'

const { server, skip } = await ownMongo(t)
const pets: View = { name: 'pets', version: 1, fields: [], indexes: [] }
const row = (key: string) => ({ key, revision: 0n, position: 1n, changes: 1n, doc: {} })

type State = {
  readonly _id: string
  readonly rows: string
  readonly building?: Readonly<Record<string, Date>>
  readonly retired?: Readonly<Record<string, Date>>
}

/** An instance with its own database on a virtual clock, and its stored view states. */
const world = async (t: Test) => {
  const time = virtualClock()
  const { clock, rest } = restingOn(time)
  const { open, name, errors } = database(server!.url, clock)
  const { views, close } = await open()
  const client = await MongoClient.connect(server!.url)
  t.teardown(() => client.close())
  const db = client.db(name)
  const since = (times: Readonly<Record<string, Date>> = {}) =>
    Object.entries(times).map(([name, at]) => [name, at.getTime() - time.now().getTime()] as const)
  return {
    views,
    rest,
    /** Ends the test and expects no background errors. */
    end: async () => {
      await rest()
      await close()
      t.same(errors, [])
    },
    clock: time,
    state: async () => {
      const { building, retired } = (await db.collection<State>('views').findOne({ _id: 'pets_1' }))!
      return { building: since(building), retired: since(retired) }
    },
    collections: async () => (await db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name),
  }
}

await t.test('a rebuild writes a heartbeat every 15 s, which is valid for a minute', { skip }, async (t) => {
  const { views, clock, state, rest, end } = await world(t)
  const building = await views.build(pets)
  const left = async () => (await state()).building.map(([, ms]) => ms)
  t.same(await left(), [60_000])
  for (const beat of [1, 2, 3]) {
    await clock.advance(14_999)
    t.same([await left(), clock.waiting()], [[45_001], [1]], `beat ${beat}`)
    await clock.advance(1)
    await rest()
    t.same([await left(), clock.waiting()], [[60_000], [15_000]], `beat ${beat}`)
  }
  await building.leave()
  t.same(clock.waiting(), [])
  await end()
})

await t.test(
  'a rebuild without a heartbeat for a minute is abandoned, and deleted ten minutes later',
  { skip },
  async (t) => {
    const { views, clock, state, collections, rest, end } = await world(t)
    const building = await views.build(pets)
    await building.put([row('a')])
    await building.leave()
    const [[staging]] = (await state()).building as [readonly [string, number]]
    let position = 0n
    /** Any change of the checkpoint starts a sweep of unused collections. */
    const look = async () => {
      t.ok(await views.mark(pets, position === 0n ? undefined : position, checkpointAt(++position)))
      await rest()
    }
    await clock.advance(60_000)
    await look()
    t.same(await state(), { building: [[staging, 0]], retired: [] })
    await clock.advance(1)
    await look()
    t.same(await state(), { building: [], retired: [[staging, 0]] })
    await t.rejects(building.swap(checkpointAt(9n)), {
      message: 'the rebuild of pets_1 was ended by a different instance, because it wrote no heartbeat for 60000 ms',
    })
    await clock.advance(600_000)
    await look()
    t.same((await state()).retired, [[staging, -600_000]])
    t.ok((await collections()).includes(staging))
    await clock.advance(1)
    await look()
    t.same((await state()).retired, [])
    t.notOk((await collections()).includes(staging))
    await end()
  },
)

await t.test('collections that a rebuild replaced or discarded are kept for ten minutes', { skip }, async (t) => {
  const { views, clock, state, collections, rest, end } = await world(t)
  await views.put(pets, [row('a')])
  const discarded = await views.build(pets)
  await discarded.discard()
  const building = await views.build(pets)
  await building.swap(checkpointAt(1n))
  await rest()
  const { retired } = await state()
  t.same(
    retired.map(([, ms]) => ms),
    [0, 0],
  )
  t.ok(retired.some(([name]) => name === 'pets_1'))
  await clock.advance(600_000)
  t.ok(await views.mark(pets, 1n, checkpointAt(2n)))
  await rest()
  t.equal((await state()).retired.length, 2)
  await clock.advance(1)
  t.ok(await views.mark(pets, 2n, checkpointAt(3n)))
  await eventually(async () => (await state()).retired.length === 0, 'what is out of use to be dropped')
  const left = await collections()
  for (const [name] of retired) t.notOk(left.includes(name), name)
  await end()
})

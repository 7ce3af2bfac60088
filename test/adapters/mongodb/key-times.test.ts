import { randomBytes } from 'node:crypto'
import { Binary, type Db } from 'mongodb'
import t from 'tap'
import { mongoCalls } from '../../../src/adapters/mongodb/calls.ts'
import { mongoKeys } from '../../../src/adapters/mongodb/keys.ts'
import { virtualClock } from '../../virtual-clock.ts'

type Stored = { readonly _id: string; readonly key?: Binary }

/** Subject keys cached by instances on one clock. Each answer takes `slow` ms; `asked` lists the times of requests. */
const world = () => {
  const clock = virtualClock()
  const stored = new Map<string, Stored>()
  const store = { slow: 0, asked: [] as (readonly [ms: number, subject: string])[] }
  const answered = async <T>(answer: T): Promise<T> => {
    if (store.slow > 0) await clock.sleep(store.slow)
    return answer
  }
  const collection = {
    findOne: ({ _id }: Stored) => {
      store.asked.push([clock.monotonic(), _id])
      return answered(stored.get(_id))
    },
    findOneAndUpdate: ({ _id }: Stored, { $setOnInsert: { key } }: { $setOnInsert: { key: Buffer } }) => {
      const made = stored.get(_id) ?? { _id, key: new Binary(key) }
      stored.set(_id, made)
      return answered(made)
    },
    bulkWrite: (writes: readonly { readonly updateOne: { readonly filter: Stored } }[]) => {
      for (const { updateOne } of writes) stored.set(updateOne.filter._id, updateOne.filter)
      return answered({})
    },
    deleteMany: () => answered({}),
  }
  const kek = randomBytes(32)
  const instance = () => mongoKeys({ collection: () => collection } as unknown as Db, mongoCalls(clock), clock, kek)
  return { clock, store, instance }
}

await t.test('an encryption key is cached for 1 s from its request, however late the answer arrives', async (t) => {
  for (const slow of [0, 400]) {
    const { clock, store, instance } = world()
    const keys = await instance()
    const key = await keys.make('ann')
    store.asked.length = 0
    store.slow = slow
    const begin = clock.monotonic()
    /** The cached key and the time of its request. */
    const found = async () => {
      const looking = keys.find('ann')
      await clock.advance(slow)
      return [await looking, store.asked.map(([ms]) => ms - begin)]
    }
    await clock.advance(1_000)
    t.strictSame(await found(), [key, [1_000]])
    await clock.advance(999 - slow)
    store.slow = 0
    t.strictSame(await keys.find('ann'), key)
    t.strictSame(store.asked.length, 1, 'not a second yet')
    await clock.advance(1)
    t.strictSame([await keys.find('ann'), store.asked.length], [key, 2], 'a second')
  }
})

await t.test('if another instance erases a person, this instance refuses the key within 1 s', async (t) => {
  const { clock, store, instance } = world()
  const [ours, other] = [await instance(), await instance()]
  const key = await ours.make('ann')
  await other.destroy('ann')
  store.asked.length = 0
  t.equal(await other.find('ann'), 'erased', 'at once where it was erased')
  await clock.advance(999)
  t.strictSame(await ours.find('ann'), key)
  await clock.advance(1)
  t.equal(await ours.find('ann'), 'erased')
  t.equal(await ours.make('ann'), 'erased', 'nothing is sealed for who was erased')
  await clock.advance(3_600_000)
  t.equal(await ours.find('ann'), 'erased')
  t.strictSame(store.asked, [[1_000, 'ann']])
})

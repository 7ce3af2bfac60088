import type { Document } from 'mongodb'
import t, { type Test } from 'tap'
import { openMongo } from '../../../src/adapters/mongodb/open.ts'
import { readModelsOf } from '../../../src/app/stores/read-models.ts'
import type { View } from '../../../src/projections/views.ts'
import { SILENCE, scriptedMongo } from '../../stand-ins/mongodb.ts'
import { virtualClock } from '../../virtual-clock.ts'
import { eventually } from '../../wait.ts'

const models = readModelsOf(new Uint8Array(32))
const pets: View = {
  name: 'pets',
  version: 1,
  fields: ['name', 'born', 'sold'],
  indexes: [{ by: ['name'] }, { by: ['born'], lacking: 'sold', also: ['name'] }, { by: ['name', 'born'] }],
}
const row = (n: number) => ({ key: `k${n}`, revision: 1n, position: 1n, changes: 1n, doc: {} })
const NO_COLLECTION = { ok: 0, code: 26, errmsg: 'ns does not exist' }
const cursor = (batch: readonly Document[]) => ({ ok: 1, cursor: { id: 0n, ns: 'test.any', firstBatch: batch } })

/** A database that answers as scripted: no collection exists, and every write matches. */
const world = async (t: Test, script: (name: string, command: Document) => Document | string | undefined) => {
  const clock = virtualClock()
  const errors: unknown[] = []
  const commands: Document[] = []
  const url = await scriptedMongo(t, (command) => {
    const name = Object.keys(command)[0]!
    if (['ping', 'endSessions'].includes(name)) return undefined
    commands.push(command)
    const scripted = script(name, command)
    if (scripted !== undefined) return scripted as Document
    if (name === 'listIndexes') return NO_COLLECTION
    if (name === 'find' || name === 'listCollections') return cursor([])
    if (name === 'findAndModify') return { ok: 1, value: { _id: command['query']._id, rows: command['query']._id } }
    return { ok: 1, n: 1, nModified: 1 }
  })
  const { views, close } = await openMongo(url, 'test', { clock, onError: (error) => errors.push(error) })
  const sent = (name: string) => commands.filter((command) => Object.keys(command)[0] === name)
  const order = () => commands.flatMap((command) => Object.keys(command)[0]!)
  return { views, close, clock, errors, commands, sent, order }
}

const indexesOf = (command: Document | undefined): readonly Document[] => command?.['indexes'] ?? []
const textOf = ({ key }: Document) => JSON.stringify(key)

await t.test('a build registers its collection, then makes all indexes with one command', async (t) => {
  const { views, close, sent, order, errors } = await world(t, () => undefined)
  for (const view of [...models, pets]) {
    const [registered, made] = [sent('findAndModify').length, sent('createIndexes').length]
    const building = await views.build(view)
    await building.leave()
    const [registering, creating] = [sent('findAndModify')[registered]!, sent('createIndexes')[made]!]
    t.equal(sent('createIndexes').length, made + 1, `one command for ${view.name}`)
    t.ok(order().lastIndexOf('findAndModify') < order().lastIndexOf('createIndexes'), 'after the registration')
    t.ok(`building.${creating['createIndexes']}` in registering['update'].$set, 'of the same collection')
    const indexes = indexesOf(creating)
    t.equal(new Set(indexes.map(textOf)).size, view.indexes.length + 1)
    const names = indexes.map(({ name }) => String(name))
    t.equal(new Set(names).size, names.length, 'each name once')
    t.strictSame(
      names.filter((name) => !/^[\w-]{1,40}$/.test(name)),
      [],
      'short names',
    )
  }
  await close()
  t.same(errors, [])
})

await t.test('a build whose indexes cannot be made leaves a collection that a sweep drops', async (t) => {
  const { views, close, sent } = await world(t, (name) =>
    name === 'createIndexes' ? { ok: 0, code: 365, errmsg: 'no more' } : undefined,
  )
  await t.rejects(views.build(pets), { message: /backend|unavailable/ })
  const [creating] = sent('createIndexes')
  const retired = sent('update').flatMap(({ updates }) => updates as readonly Document[])
  t.ok(
    retired.some(({ u }) => u.$set?.[`retired.${creating!['createIndexes']}`]),
    'it is retired',
  )
  await close()
})

for (const silent of ['listIndexes', 'createIndexes'])
  await t.test(`no write waits for an unanswered ${silent}, which is repeated a minute later`, async (t) => {
    const { views, close, sent, clock, errors } = await world(t, (name) => (name === silent ? SILENCE : undefined))
    for (const n of [1, 2, 3]) await views.put(pets, [row(n), row(n + 10)])
    await eventually(() => sent(silent).length === 1, 'the command')
    await clock.advance(10_000)
    await eventually(() => errors.length === 1, 'the end of the wait')
    await views.put(pets, [row(4)])
    t.equal(sent(silent).length, 1, 'not repeated at once')
    await clock.advance(60_000)
    await views.put(pets, [row(5)])
    await eventually(() => sent(silent).length === 2, 'the next attempt')
    t.equal(errors.length, 1)
    await close()
  })

await t.test('only missing indexes are made, whatever the names of the others', async (t) => {
  const first = await world(t, () => undefined)
  await first.views.put(pets, [row(1)])
  await eventually(() => first.sent('createIndexes').length === 1, 'the indexes')
  await first.close()
  const all = indexesOf(first.sent('createIndexes')[0])
  t.equal(all.length, 4)

  const named = all.map(({ key }, n) => ({ v: 2, key, name: `another_name_${n}` }))
  for (const found of [named.slice(0, 2), named]) {
    const next = await world(t, (name) => (name === 'listIndexes' ? cursor(found) : undefined))
    for (const n of [1, 2]) await next.views.put(pets, [row(n)])
    await (found === named
      ? eventually(() => next.sent('listIndexes').length === 1, 'the request for the indexes')
      : eventually(() => next.sent('createIndexes').length === 1, 'the indexes'))
    await next.close()
    t.strictSame(next.sent('createIndexes').flatMap(indexesOf).map(textOf), all.slice(found.length).map(textOf))
    t.same(next.errors, [])
  }
})

await t.test('a build retires collections that no state contains', async (t) => {
  const own = ['pets_1~aaaaaaaa', 'pets_1~bbbbbbbb', 'pets_1~cccccccc', 'pets_1~dddddddd']
  const others = ['pets_1', 'pets_10~aaaaaaaa', 'pets_2~aaaaaaaa', 'records']
  const state = {
    _id: 'pets_1',
    rows: own[0],
    building: { [own[1]!]: new Date(0) },
    retired: { [own[2]!]: new Date(0) },
  }
  const { views, close, sent } = await world(t, (name, command) => {
    if (name === 'listCollections')
      return cursor([...own, ...others].map((each) => ({ name: each, type: 'collection' })))
    return name === 'find' && command['find'] === 'views' ? cursor([state]) : undefined
  })
  const building = await views.build(pets)
  const retired = () =>
    sent('update')
      .flatMap(({ updates }) => updates as readonly Document[])
      .flatMap(({ u }) => Object.keys(u.$set ?? {}).filter((field) => field.startsWith('retired.')))
  await eventually(() => retired().includes(`retired.${own[3]}`), 'the collection to be retired')
  await building.leave()
  await close()
  t.strictSame(retired(), [`retired.${own[3]}`])
})

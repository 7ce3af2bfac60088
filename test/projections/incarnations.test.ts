import t from 'tap'
import type { FlagEvent } from '../../src/events/flag.ts'
import { flagIncarnations, incarnationStore } from '../../src/projections/history/incarnations.ts'
import { flagCreated } from '../samples.ts'
import { rowAfter, told } from './stored.ts'

const stream = 'flag-ns+f'
const updated = {
  type: 'FlagUpdated',
  data: { namespace: 'ns', key: 'f', incarnation: 'life-1', enabled: { from: false, to: true } },
} as FlagEvent
const deleted = { type: 'FlagDeleted', data: { namespace: 'ns', key: 'f', incarnation: 'life-1' } } as FlagEvent
const held = (...events: FlagEvent[]) => {
  const store = incarnationStore()
  store.set(flagIncarnations.name, rowAfter(flagIncarnations, stream, events)!)
  return (position: bigint) =>
    [...store.at(flagIncarnations, position, 'ns')].map(({ life }) => (typeof life === 'object' ? life.began : life))
}

await t.test('each namespace created with the same key has another id', async (t) => {
  const at = held(flagCreated, updated, deleted, flagCreated, updated)
  t.strictSame(
    [9n, 10n, 29n, 30n, 39n, 40n, 99n].map((position) => at(position)[0]),
    [undefined, 10, 10, undefined, undefined, 40, 40],
  )
})

await t.test('after many creations of the same namespace the oldest id is forgotten', async (t) => {
  const events = Array.from({ length: 100 }, () => [flagCreated, deleted]).flat()
  const at = held(...events)
  const { length } = JSON.stringify(rowAfter(flagIncarnations, stream, events)!.doc)
  t.ok(length < 5_000, `${length} characters`)
  t.strictSame(at(10n), ['unknown'])
  const [, ...rest] = told(stream, events)
  for (const { type, position } of rest.slice(-60))
    t.strictSame(at(position), [type === 'FlagCreated' ? Number(position) : undefined])
})

await t.test('rows are found by read model, namespace and key, and older rows are ignored', async (t) => {
  const store = incarnationStore()
  const row = rowAfter(flagIncarnations, stream, [flagCreated, deleted])!
  store.set(flagIncarnations.name, row)
  store.set(flagIncarnations.name, rowAfter(flagIncarnations, stream, [flagCreated])!)
  t.equal(store.row(flagIncarnations.name, 'ns+f'), row)
  store.set('flags', row)
  t.strictSame(store.rows(), [[flagIncarnations.name, row]], 'rows of other views are not taken')
  t.strictSame([...store.at(flagIncarnations, 99n, 'other')], [])
})

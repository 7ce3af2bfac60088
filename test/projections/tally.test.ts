import fc from 'fast-check'
import t from 'tap'
import { tallies } from '../../src/projections/namespace-tally.ts'
import { tokenMakers } from '../../src/projections/issuer-tally.ts'

const bytesOf = (doc: object) => Buffer.byteLength(JSON.stringify(doc))

await t.test('whatever comes, changes and goes, the tally is what counting everything gives', async () => {
  const doc = fc.option(
    fc.record({ incarnation: fc.constantFrom('one', 'two'), text: fc.string({ unit: 'grapheme' }) }),
    {
      nil: undefined,
    },
  )
  const step = fc.tuple(fc.constantFrom('flags' as const, 'segments' as const), fc.constantFrom('a', 'b', 'c'), doc)
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const tally = tallies()
      const held = new Map<string, { readonly incarnation: string }>()
      for (const [kind, key, to] of steps) {
        tally.step(kind, key, held.get(`${kind} ${key}`), to)
        if (to) held.set(`${kind} ${key}`, to)
        else held.delete(`${kind} ${key}`)
      }
      return ['one', 'two', undefined].every((life) => {
        const mine = [...held].filter(([, { incarnation }]) => incarnation === life)
        const of = (kind: string) => mine.filter(([name]) => name.startsWith(kind)).length
        const bytes = mine.reduce((sum, [, each]) => sum + bytesOf(each), 0)
        const told = tally.of(life)
        return told.flags === of('flags') && told.segments === of('segments') && told.bytes === bytes
      })
    }),
  )
})

await t.test('a maker is known as long as it has a token, and its number goes to the next', async (t) => {
  const makers = tokenMakers()
  const [one, two] = [makers.add('a'), makers.add()]
  t.equal(makers.add('a'), one)
  t.same([makers.count('a'), makers.count(), makers.count('b')], [2, 1, 0])
  makers.remove(one)
  makers.remove(one)
  t.same([makers.count('a'), makers.add('b'), makers.count('b')], [0, one, 1])
  makers.remove(two)
  t.equal(makers.count(), 0)
})

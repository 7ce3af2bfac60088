import fc from 'fast-check'
import t from 'tap'
import { tallies } from '../../src/projections/flag-memory/namespace-state.ts'
import { stringPool } from '../../src/projections/token-memory/reach-pool.ts'
import { tokenIndex } from '../../src/projections/token-memory/token-index.ts'
import type { TokenDoc } from '../../src/projections/tokens.ts'

const bytesOf = (doc: object) => Buffer.byteLength(JSON.stringify(doc))

await t.test('the counts of a namespace are correct after any changes', async () => {
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

await t.test('a creator keeps its number in memory as long as it has a token', async (t) => {
  const makers = stringPool()
  const [one, two] = [makers.add('a'), makers.add()]
  t.equal(makers.add('a'), one)
  t.same([makers.count('a'), makers.count(), makers.count('b')], [2, 1, 0])
  makers.remove(one)
  makers.remove(one)
  t.same([makers.count('a'), makers.add('b'), makers.count('b')], [0, one, 1])
  makers.remove(two)
  t.equal(makers.count(), 0)
})

await t.test('the thousandth token needs as much memory as the first', async (t) => {
  const index = tokenIndex(10_000)
  const uuid = (n: number) => `5d1c3a70-8f2e-4b6d-9a10-${String(n).padStart(12, '0')}`
  const digest = (n: number) => `k.${Buffer.from(String(n).padEnd(32, '.')).toString('base64url')}`
  const begun = Date.parse('2026-01-01T00:00:00.000Z')
  const doc = (n: number): TokenDoc => {
    const at = new Date(begun + n).toISOString()
    const method = n % 2 === 0 ? 'token' : 'oidc'
    const maker = n % 2 === 0 && { issuedBy: `maker-${n % 3}` }
    const dates = { createdAt: at, updatedAt: at, order: at, expiresAt: at }
    const rest = { began: 1, attributes: {}, metadata: {}, namespace: `ns-${n % 5}`, ...maker }
    return { id: uuid(n), digest: digest(n), method, access: 'NAMESPACED', ...dates, ...rest }
  }
  const count = 3000
  const row = { revision: 0n, position: 1n, changes: 1n }
  for (let n = 0; n < count; n++) index.remember({ key: uuid(n), ...row, doc: doc(n) })
  for (let n = 0; n < count; n++) {
    const key = index.keyOf(digest(n))
    const method = n % 2 === 0 ? 'token' : 'oidc'
    const { entry, expiresAt } = index.find(key)
    if (expiresAt !== begun + n) t.fail(`expiry of ${n}`)
    const { id, method: held, namespace } = entry!
    if (id !== uuid(n) || held !== method || namespace !== `ns-${n % 5}`) t.fail(`entry of ${n}`)
  }
  t.equal(index.countIssuedBy('maker-0').tokens, count / 6)
  const [tokens] = index.census(begun + count / 2 - 1)
  t.match(tokens, { method: 'token', ACTIVE: count / 4, EXPIRED: count / 4, DELETED: 0 })
})

import { createHash, randomUUID } from 'node:crypto'
import t from 'tap'
import { mongoCalls } from '../../src/adapters/mongodb/calls.ts'
import { mongoViews, type ViewsParts } from '../../src/adapters/mongodb/views.ts'
import { Refusal } from '../../src/base/errors.ts'
import { loadMemory } from '../../src/projections/engine/memory.ts'
import { anyProjection } from '../../src/projections/projection.ts'
import { namespaces } from '../../src/projections/resource-model.ts'
import { tokenIndex } from '../../src/projections/token-memory/token-index.ts'
import { type TokenDoc, tokens } from '../../src/projections/tokens.ts'
import type { Row, Views } from '../../src/projections/views.ts'
import { portOf } from '../adapters/embedded/store.ts'
import { memoryLog } from '../memory-log.ts'
import { noted } from '../noted.ts'
import { virtualClock } from '../virtual-clock.ts'

const time = '2026-01-01T00:00:00.000Z'
const rowOf = (doc: Partial<TokenDoc> = {}): Row<TokenDoc> => {
  const id = randomUUID()
  const digest = `k1.${createHash('sha256').update(id).digest('base64url')}`
  const rest = { began: 1, createdAt: time, updatedAt: time, attributes: { 'token.description': 'long' }, metadata: {} }
  return {
    key: id,
    revision: 3n,
    position: 1n,
    changes: 4n,
    doc: { id, digest, method: 'token', namespace: 'a', access: 'NAMESPACED', issuedBy: 'maker', ...rest, ...doc },
  }
}

await t.test('a start loads only the fields of tokens that memory needs', async (t) => {
  const { open } = await portOf(t, 'views')
  const views = await open()
  t.teardown(views.close)
  const live = [rowOf(), rowOf({ expiresAt: '2026-01-02T00:00:00.000Z' }), rowOf({ method: 'oidc' })]
  const deleted = [rowOf({ deletedAt: time }), rowOf({ deletedAt: time }), rowOf({ deletedAt: time, method: 'oidc' })]
  await views.put(tokens, [...live, ...deleted])
  const doc = { key: 'n', incarnation: 'i', name: 'n', description: '', protected: false, order: '1' }
  await views.put(namespaces, [{ key: 'n', revision: 0n, position: 1n, changes: 1n, doc }])

  const index = tokenIndex(10)
  const held: [string, Row][] = []
  const log = memoryLog()
  const projections = [anyProjection(tokens), anyProjection(namespaces)]
  await loadMemory(
    { log, views, projections, upTo: 0n },
    {
      remember: ({ name }, row) => {
        held.push([name, row])
        if (name === tokens.name) index.remember(row as Row<TokenDoc>)
      },
      needs: ({ name }) => (name === tokens.name ? index.needs : undefined),
    },
  )
  t.same(
    held.map(([name]) => name),
    ['tokens', 'tokens', 'tokens', 'namespaces'],
  )
  t.strictSame(Object.keys(held[0]![1].doc!), ['digest', 'method', 'namespace', 'issuedBy'])
  t.same(held[3]![1].doc, doc, 'whole, for memory holds it whole')
  for (const { key, doc } of live)
    t.match(index.find(index.keyOf(doc!.digest)).entry, { id: key, method: doc!.method, namespace: 'a' })
  t.equal(index.find(index.keyOf(live[1]!.doc!.digest)).expiresAt, Date.parse('2026-01-02T00:00:00.000Z'))
  t.equal(index.countIssuedBy('maker').tokens, 2)
  const census = index.census(Date.parse('2026-02-01T00:00:00.000Z'))
  t.match(
    census.filter(({ method }) => method === 'token' || method === 'oidc'),
    [
      { method: 'token', ACTIVE: 1, EXPIRED: 1, DELETED: 2 },
      { method: 'oidc', ACTIVE: 1, EXPIRED: 0, DELETED: 1 },
    ],
  )
})

await t.test('at the start a page that cannot be read is read again, and finally the start fails', async (t) => {
  let [failures, asked] = [2, 0]
  const pages = [Array.from({ length: 1000 }, (_, n) => `a${n}`), ['b']]
  const places = {
    find: async () => ({ rows: 'r' }),
    collection: () => ({
      find: ({ _id: after }: { readonly _id?: object }) => ({
        toArray: async () => {
          asked++
          if (failures-- > 0) throw new Refusal('backend_unavailable')
          const keys = pages[after === undefined ? 0 : 1]!
          return keys.map((_id) => ({ _id, revision: 0n, position: 1n, changes: 1n }))
        },
      }),
    }),
  }
  const clock = virtualClock()
  const parts = {
    calls: mongoCalls(clock),
    clock,
    places,
    rows: {},
    records: {},
  } as unknown as ViewsParts
  const scanned = async (views: Pick<Views, 'scan'>) => {
    let rows = 0
    for await (const page of views.scan(tokens)) rows += page.length
    return rows
  }
  const rows = noted(scanned(mongoViews(parts)))
  await clock.advance(60_000)
  t.same(rows, [1001])
  t.equal(asked, 4)
  failures = Infinity
  asked = 0
  const away = noted(scanned(mongoViews(parts)))
  await clock.advance(250 + 500 + 1_000 + 2_000 - 1)
  t.same([asked, away], [4, []])
  await clock.advance(1)
  t.equal(asked, 5)
  t.match(away, [new Refusal('backend_unavailable')])
})

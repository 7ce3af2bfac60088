import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { allowed, reachOf } from '../../src/access/reach.ts'
import { bitOf } from '../../src/access/rights.ts'
import { type Able, tokensAt } from '../../src/as-of/tokens.ts'
import { atPosition, conditionsOf } from '../../src/projections/history/token-past.ts'
import type { TokenPlace, TokenSort } from '../../src/projections/token-status.ts'
import { meets, STATUSES, statusOf } from '../../src/projections/token-status.ts'
import { ACCESSES, type TokenDoc } from '../../src/projections/tokens.ts'
import type { Query, Views } from '../../src/projections/views.ts'
import { tokenIssued } from '../samples.ts'
import { history, second } from './history.ts'

const NAMES = ['b', 'A', '\u{ffee}', '\u{1f600}', 'a']

const viewer = (...places: readonly string[]) => ({
  grants: places.map((place) => ({ place, role: 'viewer' })),
  roles: { viewer: ['flag.read'] },
})
/** Queries of rights, only for tokens with access by grants, because bound tokens have no others. */
const ABLE: readonly (Able | undefined)[] = [
  undefined,
  { right: 'flag.read', place: '*' },
  { right: 'flag.read', place: 'shop' },
  { right: 'flag.read', place: 'n1' },
  { right: 'flag.update', place: 'shop' },
]
const isAble = (doc: TokenDoc, { right, place }: Able) =>
  allowed(reachOf(doc, doc.method !== 'token'), bitOf(right), place)
const isBound = (able: Able | undefined, access: string | undefined) => able !== undefined && access === 'NAMESPACED'

/** Initial access of tokens in turn: full, by grants, in a namespace. */
const ACCESS_AT_FIRST = [{}, {}, viewer('*'), { namespace: 'shop' }]

const issued = (id: string, expires: number | undefined) => {
  const { expiresAt: _, ...data } = tokenIssued.data
  const attributes = { 'token.name': NAMES[Number(id.slice(1)) % NAMES.length]! }
  const access = ACCESS_AT_FIRST[Number(id.slice(1)) % ACCESS_AT_FIRST.length]!
  return {
    type: 'TokenIssued.v2',
    data: { ...data, ...access, attributes, id, ...(expires !== undefined && { expiresAt: second(expires) }) },
  }
}
const endings = (id: string) =>
  [
    { type: 'TokenRevoked', data: { id } },
    { type: 'TokenExpired', data: { id, expiresAt: second(0) } },
  ] as const

/** Absent values are last in either direction; equal ones are ordered by id. */
const inOrder = (one: TokenDoc, other: TokenDoc, sort: TokenSort, descending: boolean): number => {
  const [a, b] = [one[sort], other[sort]]
  if ((a === undefined) !== (b === undefined)) return a === undefined ? 1 : -1
  const bytes = (text: string | undefined, id: string) => Buffer.from(`${text ?? ''}\0${id}`)
  return bytes(a, one.id).compare(bytes(b, other.id)) * (descending ? -1 : 1)
}

/** Arbitrary history of tokens: issued, expiry shortened, grants narrowed, perhaps an unreadable event, and ended. */
const anyTokens = fc.array(
  fc.record({
    id: fc.integer({ min: 0, max: 12 }),
    what: fc.constantFrom('issue', 'issue', 'earlier', 'earlier', 'narrow', 'narrow', 'end', 'odd'),
    at: fc.nat(40),
  }),
  { minLength: 5, maxLength: 40 },
)

const made = async (steps: readonly { readonly id: number; readonly what: string; readonly at: number }[]) => {
  const told = history()
  const there = new Map<number, number>()
  const ended = new Set<number>()
  for (const [n, { id, what, at }] of steps.entries()) {
    const [name, expiry] = [`t${String(id).padStart(2, '0')}`, there.get(id)]
    const append = (event: { readonly type: string; readonly data: object }) =>
      told.append(`token-${name}`, [event], second(n))
    if (expiry === undefined) {
      there.set(id, at)
      await append(issued(name, at % 3 === 0 ? undefined : at + 20))
    } else if (what === 'earlier') {
      there.set(id, Math.max(0, expiry - 3))
      await append({ type: 'TokenExpiryChanged', data: { id: name, to: second(Math.max(0, expiry - 3)) } })
    } else if (what === 'narrow')
      await append({ type: 'TokenGrantsNarrowed', data: { id: name, to: viewer(`n${at % 2}`), policy: n } })
    else if (what === 'end' && !ended.has(id)) {
      // No token ends twice.
      ended.add(id)
      await append(endings(name)[at % 2]!)
    } else if (what === 'odd') await append({ type: 'TokenPainted', data: {} })
  }
  await told.built()
  return told
}

await t.test('a past list of tokens equals the list of that moment, with pages, count and filters', async (t) => {
  let compared = 0
  await fc.assert(
    fc.asyncProperty(
      anyTokens,
      fc.nat(),
      fc.constantFrom(undefined, ...STATUSES),
      fc.constantFrom(undefined, ...ACCESSES),
      fc.integer({ min: 1, max: 4 }),
      fc.constantFrom<TokenSort>('createdAt', 'expiresAt', 'name'),
      fc.boolean(),
      fc.constantFrom(...ABLE),
      async (steps, place, status, access, limit, sort, descending, able) => {
        const told = await made(steps)
        const events = told.all.slice(0, place % (told.all.length + 1))
        const position = events.at(-1)?.position ?? 0n
        const then = await told.asOf({ position })
        const now = new Date(await then.clock())
        const tokensIn = (of: readonly (typeof events)[number][]) =>
          [...told.folded(of)].filter(([name]) => name.startsWith('tokens '))
        const rows = tokensIn(events).map(([, row]) => row)
        // A token that has ended since is readable again and not counted as omitted.
        const closed = new Set(tokensIn(told.all).flatMap(([name, { unreadable }]) => (unreadable ? [name] : [])))
        const leftOut = tokensIn(events).filter(([name, { unreadable }]) => unreadable && closed.has(name)).length
        const docs = rows.flatMap(({ doc }) => (doc as TokenDoc | undefined) ?? [])
        const due = docs
          .filter((doc) => access === undefined || doc.access === access)
          .filter((doc) => !able || access === undefined || access === 'FULL' || isAble(doc, able))
          .filter((doc) => !isBound(able, access) || doc.namespace === able!.place)
          .filter((doc) => (status === undefined ? doc.deletedAt === undefined : statusOf(doc, now) === status))
          .sort((one, other) => inOrder(one, other, sort, descending))
        const seen: TokenDoc[] = []
        for (let after: TokenPlace | undefined; ; ) {
          const list = { sort, descending, limit, count: 100, ...(after && { after }) }
          const where = isBound(able, access) ? { namespace: { equals: [able!.place] } } : {}
          const asked = {
            where,
            status,
            access,
            now: now.toISOString(),
            ...list,
            ...(able && access !== undefined && access !== 'FULL' && { able }),
          }
          const page = await then.tokens(asked)
          assert.equal(page.total, due.length)
          assert.ok(page.left >= leftOut, `${page.left} left out, not ${leftOut}`)
          seen.push(...page.docs)
          const last = page.docs.at(-1)
          if (!last || page.docs.length < limit) break
          after = { value: last[sort] ?? null, key: last.id }
        }
        assert.deepEqual(JSON.parse(JSON.stringify(seen)), JSON.parse(JSON.stringify(due)))
        compared += due.length
      },
    ),
    { numRuns: 600 },
  )
  t.ok(compared > 100, `${compared} records`)
})

await t.test('a page of a past list reads only the tokens on it', async (t) => {
  const told = history()
  for (let n = 0; n < 200; n++)
    await told.append(
      `token-t${String(n).padStart(3, '0')}`,
      [issued(`t${String(n).padStart(3, '0')}`, undefined)],
      second(n),
    )
  for (let n = 0; n < 100; n++)
    await told.append(`token-t${String(n).padStart(3, '0')}`, [endings('x')[0]], second(300))
  await told.built()
  const then = await told.asOf({ instant: second(250) })
  told.counted()
  const page = await then.tokens({ where: {}, status: undefined, now: second(250), limit: 26, count: 10_001 })
  t.match(page, { total: 200, left: 0 })
  t.strictSame(
    page.docs.map(({ id, deletedAt }) => [id, deletedAt]),
    Array.from({ length: 26 }, (_, n) => [`t${String(n).padStart(3, '0')}`, undefined]),
  )
  t.equal(told.counted().streams.length, 26)
})

await t.test('a search for tokens with a right checks each distinct set of rights once', async (t) => {
  const told = history()
  const places = ['a', 'b', 'c', 'd']
  for (let n = 0; n < 400; n++) {
    const id = `t${String(n).padStart(3, '0')}`
    const event = issued(id, undefined)
    await told.append(
      `token-${id}`,
      [{ ...event, data: { ...event.data, namespace: undefined, ...viewer(places[n % 4]!) } }],
      second(n),
    )
  }
  await told.built()
  const then = await told.asOf({ instant: second(500) })
  const asked = { where: {}, access: 'GRANTED', status: undefined, now: second(500), limit: 10, count: 10_001 } as const
  for (const [place, total] of [
    ['a', 100],
    ['*', 0],
    ['nowhere', 0],
  ] as const) {
    told.counted()
    const page = await then.tokens({ ...asked, able: { right: 'flag.read', place } })
    t.match(page, { total, left: 0 })
    t.equal(page.docs.length, Math.min(total, 10))
    t.equal(told.counted().streams.length, page.docs.length, 'no other token is read')
  }
})

await t.test('a token whose grants were reduced later has its earlier rights at the past moment', async (t) => {
  const told = history()
  const ids = ['t1', 't2', 't3'] as const
  const held = [viewer('a'), viewer('a'), {}]
  for (const [n, id] of ids.entries()) {
    const event = issued(id, undefined)
    const data = { ...event.data, namespace: undefined, grants: undefined, roles: undefined, ...held[n] }
    await told.append(`token-${id}`, [{ ...event, data }], second(n))
  }
  const narrow = (id: string, ...places: readonly string[]) =>
    told.append(
      `token-${id}`,
      [{ type: 'TokenGrantsNarrowed', data: { id, to: viewer(...places), policy: 1 } }],
      second(10),
    )
  await narrow('t1', 'b')
  await told.append('token-t2', [endings('t2')[0]], second(20))
  await narrow('t3', 'c')
  await narrow('t3')
  await told.built()
  const whole = { where: {}, status: undefined, now: second(30), limit: 10, count: 10 }
  const at = async (position: number, place: string, access: 'GRANTED' | 'FULL' = 'GRANTED') => {
    const then = await told.asOf({ position: told.all[position - 1]!.position })
    const able = access === 'FULL' ? {} : { able: { right: 'flag.read', place } as const }
    const { docs, total } = await then.tokens({ ...whole, access, ...able })
    t.equal(total, docs.length)
    return docs.map(({ id }) => id)
  }
  t.strictSame([await at(3, 'a'), await at(3, 'b'), await at(3, 'a', 'FULL')], [['t1', 't2'], [], ['t3']])
  t.strictSame([await at(4, 'a'), await at(4, 'b'), await at(4, 'c')], [['t2'], ['t1'], []])
  t.strictSame([await at(5, 'a'), await at(5, 'b')], [[], ['t1']])
  t.strictSame([await at(6, 'c'), await at(6, 'b'), await at(6, 'c', 'FULL')], [['t3'], ['t1'], []])
  t.strictSame([await at(7, 'c'), await at(7, 'a'), await at(7, 'b')], [[], [], ['t1']])
})

await t.test('tokens are checked one by one if they have too many distinct sets of rights', async (t) => {
  const told = history()
  for (let n = 0; n < 2_100; n++) {
    const id = `t${String(n).padStart(4, '0')}`
    const event = issued(id, undefined)
    await told.append(
      `token-${id}`,
      [{ ...event, data: { ...event.data, namespace: undefined, ...viewer(`n${n}`) } }],
      second(n),
    )
  }
  await told.built()
  const then = await told.asOf({ instant: second(3_000) })
  const asked = {
    where: {},
    access: 'GRANTED',
    status: undefined,
    now: second(3_000),
    limit: 10,
    count: 10_001,
  } as const
  const page = await then.tokens({ ...asked, able: { right: 'flag.read', place: 'n77' } })
  t.match(page, { total: 1, docs: [{ id: 't0077' }] })
})

await t.test('a token that ends while a list is read is listed once', async (t) => {
  const doc = { id: 't1', createdAt: second(1), began: 1 } as unknown as TokenDoc
  const row = { key: 't1', revision: 0n, position: 1n, changes: 1n, doc }
  let asked = 0
  const list = async (_: unknown, { where }: Query) => {
    asked++
    // The first part is read before the record ends, the others after it.
    return 'changedBefore' in where && !('changed' in where) ? { rows: [row], total: 1 } : { rows: [], total: 0 }
  }
  const sources = { views: { list: list as unknown as Views['list'], values: async () => [] }, read: async () => [] }
  const page = { where: {}, status: undefined, now: second(9), limit: 5, count: 10, closed: [] }
  t.same(await tokensAt(sources, 5n, page), { ids: ['t1'], total: 1, left: 0 })
  t.equal(asked, 3)
})

await t.test('a token that ends while a list is read is not listed twice', (t) => {
  const positions = [undefined, 5, 15]
  const accesses = [undefined, ...ACCESSES].flatMap((asked) => [
    ...ACCESSES.map((access) => [access, asked, undefined] as const),
    ['GRANTED', asked, 5] as const,
    ['GRANTED', asked, 15] as const,
  ])
  for (const [sort, status] of (['createdAt', 'expiresAt'] as const).flatMap((sort) =>
    [undefined, ...STATUSES].map((status) => [sort, status] as const),
  ))
    for (const ended of positions)
      for (const changed of positions)
        for (const changedBefore of changed === 15 ? positions : [undefined])
          for (const [access, asked, fullUntil] of accesses) {
            const doc = {
              access,
              fullUntil,
              began: 1,
              createdAt: 'x',
              expiresAt: '2',
              previousExpiry: '3',
              ended,
              ...(ended !== undefined && { deletedAt: 'x' }),
              changed,
              changedBefore,
            }
            const wanted = { where: {}, status, access: asked, now: '1' }
            const { known, unknown } = atPosition(wanted, 10n, sort)
            const parts = [...known.map(({ where }) => where), ...unknown].filter((where) => meets(doc, where))
            t.ok(parts.length <= 1, JSON.stringify([status, doc, parts]))
            t.type(conditionsOf(wanted), 'object')
          }
  t.end()
})

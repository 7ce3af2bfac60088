import fc from 'fast-check'
import t, { type Test } from 'tap'
import { allowed, reachOf, reachText } from '../../src/access/reach.ts'
import { bitOf } from '../../src/access/rights.ts'
import { enveloper } from '../../src/commands/envelope.ts'
import { executor } from '../../src/commands/execute.ts'
import { token } from '../../src/commands/token.ts'
import { FORMAT } from '../../src/events/catalog.ts'
import type { Stored } from '../../src/events/log.ts'
import { START } from '../../src/projections/engine/checkpoints.ts'
import { runner } from '../../src/projections/engine/runner.ts'
import { anyProjection } from '../../src/projections/projection.ts'
import { bloomFilter } from '../../src/projections/token-memory/eviction.ts'
import { hashTable, keyOf } from '../../src/projections/token-memory/table.ts'
import { type TokenEntry, tokenIndex } from '../../src/projections/token-memory/token-index.ts'
import { type TokenDoc, tokens } from '../../src/projections/tokens.ts'
import type { Row } from '../../src/projections/views.ts'
import { lagging, memoryLog } from '../memory-log.ts'
import { memoryViews } from '../memory-views.ts'
import { virtualClock } from '../virtual-clock.ts'
import { digestOf, idOf, NOW, rowOf } from './token-rows.ts'

const clear = { seal: async (_: string, text: string) => text, open: async (text: string) => ({ text }) }
const context = { actor: { kind: 'system' } } as const
const MIDDAY = '2026-01-01T12:00:00.000Z'
const EVENING = '2026-01-01T18:00:00.000Z'

await t.test('the hash table finds entries by key after any insertions and removals', async () => {
  const key = fc.integer({ min: 0, max: 400 })
  const steps = fc.array(fc.tuple(fc.constantFrom('put', 'put', 'remove'), key), { maxLength: 3_000 })
  fc.assert(
    fc.property(steps, fc.constantFrom(1, 4), (history, width) => {
      // Keys that differ in two bits only, so that many collide.
      const words = (n: number) => new Uint32Array(width).fill(n << 20)
      const [table, model, free] = [hashTable(width), new Map<number, number>(), [] as number[]]
      let slots = 0
      for (const [what, n] of history) {
        const held = model.get(n)
        if (what === 'put' && held === undefined) {
          const slot = free.pop() ?? slots++
          table.set(slot, words(n))
          model.set(n, slot)
        } else if (what === 'remove' && held !== undefined) {
          table.remove(held)
          free.push(held)
          model.delete(n)
        }
      }
      if (table.size() !== model.size) return false
      return Array.from({ length: 401 }, (_, n) => n).every((n) => table.find(words(n)) === model.get(n))
    }),
    { numRuns: 60 },
  )
})

await t.test('all tokens are found by digest and by id after the table has grown', async (t) => {
  const index = tokenIndex(10_000)
  for (let n = 0; n < 5_000; n++) index.remember(rowOf(n, { namespace: `n${n % 3}` }))
  const found = Array.from({ length: 5_000 }, (_, n) => index.find(index.keyOf(digestOf(n))).entry)
  t.ok(found.every((entry, n) => entry?.id === idOf(n) && entry.namespace === `n${n % 3}`))
  t.equal(index.size(), 5_000)
  t.equal(index.countIssuedBy().tokens, 5_000)
})

await t.test('beyond its capacity the token index drops tokens and reports itself as incomplete', async (t) => {
  const index = tokenIndex(100)
  for (let n = 0; n < 100; n++) index.remember(rowOf(n))
  const forgot = (n: number) => index.find(index.keyOf(digestOf(n))).state === 'evicted'
  t.notOk(forgot(0))
  for (let n = 100; n < 350; n++) {
    index.remember(rowOf(n))
    t.ok(index.find(index.keyOf(digestOf(n))).entry, 'the newest is held')
  }
  const all = Array.from({ length: 350 }, (_, n) => n)
  t.same(
    all.filter((n) => forgot(n)),
    all.filter((n) => !index.find(index.keyOf(digestOf(n))).entry),
  )
  t.equal(index.size(), 100)
  t.equal(index.countIssuedBy().tokens, 100)
})

await t.test('tokens in use stay in the token index, and a dropped token can return', async (t) => {
  const index = tokenIndex(100)
  for (let n = 0; n < 1000; n++) {
    index.remember(rowOf(n))
    for (let used = 0; used <= Math.min(n, 29); used++) index.find(index.keyOf(digestOf(used)))
  }
  const held = (n: number) => index.find(index.keyOf(digestOf(n))).entry !== undefined
  for (let n = 0; n < 30; n++) t.ok(held(n), String(n))
  t.notOk(held(500))
  index.remember(rowOf(500))
  t.ok(held(500))
  t.equal(index.size(), 100)
})

await t.test('the token index drops a token even if all tokens were used recently', async (t) => {
  const index = tokenIndex(1000)
  for (let n = 0; n < 1000; n++) index.remember(rowOf(n))
  for (let n = 0; n < 1000; n++) index.find(index.keyOf(digestOf(n)))
  index.remember(rowOf(1000))
  t.equal(index.size(), 1000)
  t.ok(index.find(index.keyOf(digestOf(1000))).entry)
})

await t.test('the Bloom filter contains all dropped tokens and few others', async (t) => {
  const forgotten = bloomFilter(1000, 3)
  const keys = Array.from({ length: 4000 }, (_, n) => keyOf(digestOf(n)))
  for (const key of keys.slice(0, 2500)) forgotten.add(key)
  for (const key of keys.slice(0, 2500)) forgotten.add(key)
  t.equal(forgotten.count(), 2500, 'each once')
  t.ok(keys.slice(0, 2500).every((key) => forgotten.has(key)))
  t.notOk(keys.slice(2500).some((key) => forgotten.has(key)))
  for (const key of keys.slice(2500)) forgotten.add(key)
  t.ok(keys.every((key) => forgotten.has(key)))
  t.ok(forgotten.has(keyOf(digestOf(9999))), 'beyond what it has room for, anything may be there')
})

await t.test('the token index finds no digest of another length and no token without a UUID', async (t) => {
  const index = tokenIndex(10)
  const long = `k.${Buffer.alloc(40, 1).toString('base64url')}`
  const longer = `k.${Buffer.alloc(41, 1).toString('base64url')}`
  index.remember(rowOf(1, { digest: long }))
  t.equal(index.find(index.keyOf(long)).entry?.id, idOf(1))
  t.equal(index.find(index.keyOf(longer)).entry, undefined)
  index.remember({ ...rowOf(2), key: 'no uuid' })
  t.equal(index.find(index.keyOf(digestOf(2))).entry, undefined)
  t.equal(index.find(index.keyOf(digestOf(2))).state, 'evicted', 'what it cannot hold is looked up elsewhere')
})

type Granted = {
  readonly grants: readonly { readonly place: string; readonly role: string }[]
  readonly roles: Record<string, readonly string[]>
}
const viewerIn = (...places: readonly string[]): Granted => ({
  grants: places.map((place) => ({ place, role: 'viewer' })),
  roles: { viewer: ['flag.read'] },
})

/** Memory of an instance that follows a log with another writer; counts the stream reads of following. */
const follower = async (t: Test, { capacity = 100 } = {}) => {
  const clock = virtualClock()
  const log = memoryLog()
  const leader = lagging(log)
  const { execute } = executor(
    log,
    enveloper(clear, 'other', () => new Date(NOW)),
    { clock, format: () => FORMAT },
  )
  const index = tokenIndex(capacity)
  const puts: Row[] = []
  const { views, checkpoints } = memoryViews(({ rows }) => void puts.push(...rows))
  checkpoints.set(tokens.name, START)
  const errors: unknown[] = []
  const ours = runner({
    clock,
    log: leader.log,
    views,
    projections: [anyProjection(tokens)],
    remember: (_, row) => index.remember(row as Row<TokenDoc>),
    take: (_, event) => index.apply(event),
    writes: () => false,
    onError: (error) => errors.push(error),
  })
  await ours.start()
  t.teardown(ours.close)
  return {
    log,
    reads: leader.reads,
    errors,
    index,
    puts,
    applied: ours.applied,
    followed: async () => t.ok(await ours.seen(await log.head(), 5_000)),
    issue: (n: number, access: object = {}) =>
      execute(
        token,
        idOf(n),
        'IssueToken',
        {
          id: idOf(n),
          digest: digestOf(n),
          method: 'token',
          issuedAt: NOW,
          expiresAt: EVENING,
          attributes: {},
          metadata: {},
          ...access,
        },
        context,
      ),
    narrow: (n: number, from: Granted | undefined, to: Granted, policy: number) =>
      execute(token, idOf(n), 'NarrowGrants', { id: idOf(n), ...(from && { from }), to, policy }, context),
    end: (n: number) => execute(token, idOf(n), 'RevokeToken', { id: idOf(n) }, context),
    cut: (n: number) =>
      execute(token, idOf(n), 'ExpireTokenEarlier', { id: idOf(n), expiresAt: MIDDAY, now: NOW }, context),
    expiry: (n: number) => index.find(index.keyOf(digestOf(n))).expiresAt,
    ended: (n: number) => index.find(index.keyOf(digestOf(n))).state === 'ended',
  }
}

await t.test('revocations by other instances are applied without reading the events of the token', async (t) => {
  const { issue, cut, end, followed, reads, expiry, ended, index } = await follower(t, { capacity: 2_000 })
  for (let n = 0; n < 1_200; n++) await issue(n)
  await followed()
  for (let n = 0; n < 40; n++) await cut(n)
  for (let n = 20; n < 60; n++) await end(n)
  await followed()
  for (let n = 0; n < 20; n++) t.equal(expiry(n), Date.parse(MIDDAY))
  for (let n = 20; n < 60; n++) t.strictSame([expiry(n), ended(n)], [undefined, true])
  t.equal(reads(), 0)
  t.equal(index.countIssuedBy().tokens, 1_160)
  t.match(index.census(Date.parse(NOW))[0], { ACTIVE: 1_160, EXPIRED: 0, DELETED: 40 })
})

await t.test('revocations by this instance are applied without a read, and their rows written later', async (t) => {
  const { issue, cut, end, applied, followed, reads, ended, index, puts } = await follower(t)
  for (let n = 0; n < 5; n++) await issue(n)
  await followed()
  t.same(index.standing(idOf(0)), { at: 0n, expiresAt: EVENING })
  await applied((await end(0)).stored)
  t.ok(ended(0))
  const followedFirst = await end(1)
  await followed()
  await applied(followedFirst.stored)
  t.strictSame([reads(), puts.length], [0, 0])
  await cut(2)
  await followed()
  t.same(index.standing(idOf(2)), { at: 1n, expiresAt: MIDDAY })
  for (const n of [0, 1, 9]) t.equal(index.standing(idOf(n)), undefined)
  index.remember(rowOf(3, {}, 1n))
  await applied((await end(3)).stored)
  t.ok(ended(3), 'also where memory was told otherwise')
  index.remember(rowOf(4, {}, 70_000n))
  t.equal(index.standing(idOf(4)), undefined, 'a revision beyond those that are kept')
})

await t.test('a token that is not in memory is read, and tokens that have ended are kept in memory', async (t) => {
  const { issue, end, followed, reads, expiry, ended } = await follower(t, { capacity: 2 })
  for (let n = 0; n < 3; n++) await issue(n)
  await followed()
  t.equal(expiry(0), undefined, 'forgotten for another')
  for (let n = 3; n < 1_100; n++) await issue(n)
  await end(0)
  await followed()
  t.equal(reads(), 1)
  t.ok(ended(0))
})

await t.test('an event that skips a revision is not applied, and its token is read again', async (t) => {
  const { index, expiry } = await follower(t)
  const stored = (n: number, type: string, revision: bigint, data: object = {}): Stored => ({
    stream: `token-${idOf(n)}`,
    id: idOf(1_000 + n),
    type,
    revision,
    position: 1n,
    time: NOW,
    data: JSON.stringify({ id: idOf(n), ...data }),
    meta: '{}',
  })
  for (let n = 0; n < 5; n++) index.remember(rowOf(n, { expiresAt: EVENING }, 3n))
  t.notOk(index.apply(stored(0, 'TokenExpiryChanged', 5n, { to: MIDDAY })), 'one is missing before it')
  t.equal(expiry(0), Date.parse(EVENING))
  t.notOk(index.apply(stored(1, 'TokenRevoked', 5n)))
  t.ok(index.apply(stored(2, 'TokenExpiryChanged', 3n, { to: MIDDAY })), 'what is known already changes nothing')
  t.equal(expiry(2), Date.parse(EVENING))
  t.notOk(index.apply(stored(3, 'TokenRevoked.v2', 4n)), 'a shape that is not known')
  t.notOk(index.apply(stored(9, 'TokenRevoked', 1n)), 'a token that is not known')
  t.ok(index.apply(stored(4, 'TokenExpired', 4n, { expiresAt: EVENING })))
  t.equal(expiry(4), undefined)
  index.remember(rowOf(0, { expiresAt: MIDDAY }, 5n))
  index.remember(rowOf(0, { expiresAt: EVENING }, 4n))
  t.equal(expiry(0), Date.parse(MIDDAY), 'an older row changes nothing')
  index.remember(rowOf(0, { expiresAt: MIDDAY }, 70_000n))
  t.notOk(index.apply(stored(0, 'TokenRevoked', 70_001n)), 'a revision beyond those that are kept')
})

await t.test('reduced grants from other instances are applied without reading the events of the token', async (t) => {
  const { issue, narrow, followed, reads, index } = await follower(t)
  const entryOf = (n: number) => index.find(index.keyOf(digestOf(n))).entry!
  const is = (n: number, entry: TokenEntry) => index.stillValid(index.keyOf(digestOf(n)), entry, Date.parse(NOW))
  for (let n = 0; n < 4; n++) await issue(n, n === 0 ? {} : viewerIn('shop', 'blog'))
  await issue(4, { ...viewerIn('shop'), policy: 0 })
  await followed()
  const before = [0, 1, 2, 3, 4].map(entryOf)
  t.equal(before[1]!.reach, before[2]!.reach, 'equal reaches are one object')
  t.ok(before[0]!.reach.full)
  t.same(
    before.map(({ policy }) => policy),
    [undefined, undefined, undefined, undefined, 0],
  )
  await narrow(0, undefined, viewerIn('shop'), 0)
  await narrow(1, viewerIn('shop', 'blog'), viewerIn('shop'), 3)
  await narrow(4, viewerIn('shop'), viewerIn('blog'), 4)
  await followed()
  const may = (n: number) => ['*', 'shop', 'blog'].map((place) => allowed(entryOf(n).reach, bitOf('flag.read'), place))
  t.same([0, 1, 2, 4].map(may), [
    [false, true, false],
    [false, true, false],
    [false, true, true],
    [false, false, true],
  ])
  t.equal(entryOf(0).reach, entryOf(1).reach)
  t.same(
    [0, 1, 2, 4].map((n) => entryOf(n).policy),
    [0, 3, undefined, 4],
  )
  t.same(
    [0, 1, 2, 3, 4].map((n) => is(n, before[n]!)),
    [false, false, true, true, false],
  )
  t.equal(reads(), 0)
  t.ok(is(0, entryOf(0)))
})

await t.test('each distinct set of rights is stored once', async (t) => {
  const index = tokenIndex(10_000)
  const grantsOf = (n: number) => [{ place: `n${n % 100}`, rights: ['flag.read'] }]
  const textOf = (n: number) => reachText(reachOf({ grants: grantsOf(n) }))
  for (let n = 0; n < 1_000; n++)
    index.remember(rowOf(n, { access: 'GRANTED', grants: grantsOf(n), reach: textOf(n), policy: n % 3 }))
  const entries = Array.from({ length: 1_000 }, (_, n) => index.find(index.keyOf(digestOf(n))).entry!)
  t.equal(new Set(entries.map(({ reach }) => reach)).size, 100)
  t.ok(entries.every(({ reach, policy }, n) => allowed(reach, bitOf('flag.read'), `n${n % 100}`) && policy === n % 3))
  for (let n = 0; n < 1_000; n++)
    if (n % 100 > 0) index.remember(rowOf(n, { access: 'GRANTED', reach: textOf(n), deletedAt: NOW }, 1n))
  t.equal(index.save()!.facts.reaches.length, 100)
  for (let n = 1_000; n < 1_099; n++) index.remember(rowOf(n, { namespace: `other-${n}` }))
  t.equal(index.save()!.facts.reaches.length, 100, 'the number of a reach that no token has is given to another')
  t.ok(allowed(index.find(index.keyOf(digestOf(100))).entry!.reach, bitOf('flag.read'), 'n0'))
})

import assert from 'node:assert/strict'
import { createHash, createHmac, randomUUID } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { memorySnapshot, snapshotKeeper } from '../../src/app/stores/memory-snapshot.ts'
import { canonical } from '../../src/base/canonical.ts'
import type { EventLog } from '../../src/events/log.ts'
import { projections } from '../../src/projections/all.ts'
import { runner } from '../../src/projections/engine/runner.ts'
import { flagStore } from '../../src/projections/flag-memory/flag-store.ts'
import { incarnationStore } from '../../src/projections/history/incarnations.ts'
import { tokenIndex } from '../../src/projections/token-memory/token-index.ts'
import { type TokenDoc, tokens } from '../../src/projections/tokens.ts'
import type { Row, Snapshots, Views } from '../../src/projections/views.ts'
import { portOf } from '../adapters/embedded/store.ts'
import { memoryLog } from '../memory-log.ts'
import { memoryViews } from '../memory-views.ts'
import { noted } from '../noted.ts'
import { virtualClock } from '../virtual-clock.ts'

const time = '2026-01-01T00:00:00.000Z'
const secret = Buffer.alloc(32, 7)
const digestOf = (id: string) => `k1.${createHash('sha256').update(id).digest('base64url')}`
const event = (type: string, data: object) => ({
  id: randomUUID(),
  type,
  time,
  data: canonical(data),
  meta: '{}',
})
const issued = (id: string, more: object = {}) =>
  event('TokenIssued.v2', {
    id,
    digest: digestOf(id),
    method: 'token',
    issuedAt: time,
    attributes: {},
    metadata: {},
    ...more,
  })
const revoked = (id: string) => event('TokenRevoked', { id })
const namespaceMade = (key: string) =>
  event('NamespaceCreated', { key, incarnation: key, name: key, description: '', protected: false })
const idOf = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`

const kept = () => {
  let bytes: Uint8Array | undefined
  const snapshots: Snapshots = {
    read: async () => bytes,
    write: async (parts) => {
      const all: Uint8Array[] = []
      for await (const part of parts) all.push(Buffer.from(part))
      bytes = Buffer.concat(all)
    },
    remove: async () => void (bytes = undefined),
  }
  return { snapshots, bytes: () => bytes, set: (other: Uint8Array | undefined) => void (bytes = other) }
}

/** Memory of an instance on a log and views, loaded from the snapshot if possible. */
const instance = (log: EventLog, views: Views, snapshots: Snapshots, capacity = 1000, key: Uint8Array = secret) => {
  const lives = incarnationStore()
  const [index, held, told] = [tokenIndex(capacity), flagStore(() => 0), [] as (readonly [string, object])[]]
  const logger = {
    info: (fields: object, line: string) => void told.push([line, fields]),
    warn: (fields: object, line: string) => void told.push([line, fields]),
  } as never
  const memory = memorySnapshot({ snapshots, secret: key, log, index, holders: [held, lives], logger })
  const scans: string[] = []
  const clock = virtualClock()
  const run = runner({
    clock,
    log,
    views: { ...views, scan: (view, part) => (scans.push(view.name), views.scan(view, part)) },
    projections,
    remember: ({ name }, row) => {
      if (name === tokens.name) index.remember(row as Row<TokenDoc>)
      lives.set(name, row)
      held.set(name, row)
    },
    needs: ({ name }) => (name === tokens.name ? index.needs : undefined),
    recall:
      ({ name }) =>
      (id) =>
        held.row(name, id) ?? lives.row(name, id),
    take: ({ name }, each) => name === tokens.name && index.apply(each),
    restore: memory.restore,
    onError: (error) => {
      throw error
    },
  })
  /** State of the first tokens and of the namespaces, and their number. */
  const state = (count: number) => ({
    tokens: Array.from({ length: count }, (_, n) => {
      const { entry, expiresAt, state } = index.find(index.keyOf(digestOf(idOf(n))))
      return [n, entry, expiresAt, state === 'evicted']
    }),
    makers: ['', 'a', 'b'].map((maker) => index.countIssuedBy(maker)),
    // A token created and ended within one page is not counted as deleted, so that number depends on pages.
    census: index.census(Date.parse(time)).map(({ ACTIVE, EXPIRED }) => [ACTIVE, EXPIRED]),
    deleted: index.census(0).map(({ DELETED }) => DELETED),
    size: index.size(),
    rows: [...held.rows(), ...lives.rows()]
      .toSorted(([a, one], [b, other]) => (a + one.key < b + other.key ? -1 : 1))
      .map(([view, row]) => [view, row.key, String(row.revision), String(row.changes), row.doc]),
  })
  return { run, clock, index, held, told, scans, state, save: async () => memory.write(run.remembered()) }
}

const viewsOf = async (t: Parameters<typeof portOf>[0]) => {
  const views = await (await portOf(t, 'views')).open()
  t.teardown(views.close)
  return views
}

await t.test('memory is restored from a snapshot without reading the read models', async (t) => {
  const [log, views, store] = [memoryLog(), await viewsOf(t), kept()]
  for (let n = 0; n < 40; n++) {
    const maker = [{}, { issuedBy: 'a' }, { issuedBy: 'b' }][n % 3]!
    const more = {
      ...maker,
      ...(n % 4 === 0 && { namespace: `n${n % 8}` }),
      ...(n % 5 === 0 && { expiresAt: '2026-02-01T00:00:00.000Z' }),
      ...(n % 3 === 1 && { grants: [{ place: `n${n % 5}`, rights: ['flag.read'] }], roles: {}, policy: n }),
    }
    await log.append(`token-${idOf(n)}`, [issued(idOf(n), more)], 'none')
  }
  for (let n = 0; n < 10; n++) await log.append(`token-${idOf(n)}`, [revoked(idOf(n))], 0n)
  await log.append('namespace-x', [namespaceMade('x')], 'none')
  const first = instance(log, views, store.snapshots, 25)
  await first.run.start()
  await first.save()
  await first.run.close()
  t.same(first.told, [])

  await log.append(`token-${idOf(30)}`, [revoked(idOf(30))], 0n)
  await log.append('namespace-y', [namespaceMade('y')], 'none')
  const second = instance(log, views, store.snapshots, 25)
  t.type(await second.run.start(), 'bigint', 'says where it began')
  t.same(second.scans, [])
  t.match(second.told, [['the start restored the memory from its snapshot', { tokens: 25 }]])
  await second.run.close()
  const without = instance(log, views, kept().snapshots, 25)
  t.equal(await without.run.start(), undefined)
  t.ok(without.scans.length > 0)
  const [one, other] = [second.state(40), without.state(40)]
  t.same([one.deleted, one.rows], [other.deleted, other.rows])
  t.equal(second.index.find(second.index.keyOf(digestOf(idOf(30)))).entry, undefined, 'what came later is in force')
  await without.run.close()
})

await t.test('a memory snapshot of any age and the later events give the present state', async () => {
  const step = fc.record({
    token: fc.nat(11),
    save: fc.integer({ min: 0, max: 5 }),
    own: fc.boolean(),
    wait: fc.boolean(),
    net: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
      const [log, { views }, store] = [memoryLog(), memoryViews(), kept()]
      await log.append('namespace-x', [namespaceMade('x')], 'none')
      const first = instance(log, views, store.snapshots)
      await first.run.start()
      const revisions = new Map<number, bigint>()
      for (const { token, save, own, wait, net } of steps) {
        const revision = revisions.get(token)
        if (revision !== undefined && revision > 0n) continue
        const [stream, id] = [`token-${idOf(token)}`, idOf(token)]
        const events = revision === undefined ? [issued(id)] : [revoked(id)]
        const { positions } = await log.append(stream, events, revision ?? 'none')
        revisions.set(token, (revision ?? -1n) + 1n)
        const stored = events.map((each, n) => ({
          ...each,
          stream,
          revision: revisions.get(token)!,
          position: positions[n]!,
        }))
        if (own) await first.run.applied(stored)
        if (wait && !(await first.run.seen(positions.at(-1)!, 1000))) return false
        if (save === 0) await first.save()
        if (net) await first.clock.advance(100)
      }
      if (!(await first.run.seen(await log.head(), 1000))) return false
      const second = instance(log, views, store.snapshots)
      await second.run.start()
      const [{ deleted: _, ...one }, { deleted: __, ...other }] = [first.state(12), second.state(12)]
      await Promise.all([first.run.close(), second.run.close()])
      assert.deepEqual(other, one)
      return true
    }),
    { numRuns: 100 },
  )
})

/** Instance that has written a snapshot, and a function that starts from it. */
const saved = async (t: Parameters<typeof portOf>[0]) => {
  const [log, views, store] = [memoryLog(), await viewsOf(t), kept()]
  for (let n = 0; n < 5; n++) await log.append(`token-${idOf(n)}`, [issued(idOf(n))], 'none')
  const first = instance(log, views, store.snapshots)
  await first.run.start()
  await first.save()
  await first.run.close()
  const begin = async (on: EventLog = log, capacity?: number, key?: Buffer) => {
    const { run, told, index } = instance(on, views, store.snapshots, capacity, key)
    await run.start()
    await run.close()
    t.ok(index.find(index.keyOf(digestOf(idOf(1)))).entry, 'it knows its tokens all the same')
    return told
  }
  return { begin, log, ...store }
}
const notUsed = (why: string) => [
  ['the snapshot of the memory cannot be used; the start reads the stored data instead', { why }],
]

await t.test('a memory snapshot that is modified, truncated or of another key is not used', async (t) => {
  const { begin, bytes, set } = await saved(t)
  const good = bytes()!
  const damaged = notUsed('the snapshot is damaged, or was written under another key')
  for (const at of [0, 5, 200, Math.floor(good.length / 2), good.length - 1]) {
    const bad = Buffer.from(good)
    bad[at]! ^= 1
    set(bad)
    t.match(await begin(), damaged)
  }
  for (const short of [good.subarray(0, -1), good.subarray(1), Buffer.alloc(0), good.subarray(0, 10)]) {
    set(Buffer.from(short))
    t.match(await begin(), damaged)
  }
  set(good)
  t.match(await begin(undefined, undefined, Buffer.alloc(32, 8)), damaged)
  t.match(await begin(), [['the start restored the memory from its snapshot', {}]])
})

await t.test('a memory snapshot of another version or log, or with too many tokens, is not used', async (t) => {
  const { begin, bytes, set, log } = await saved(t)
  const good = bytes()!
  const body = Buffer.from(good.subarray(0, -32))
  body.write('[9', body.indexOf('[1,'))
  const key = createHmac('sha256', secret).update('rollcall memory snapshot').digest()
  set(Buffer.concat([body, createHmac('sha256', key).update(body).digest()]))
  t.match(await begin(), notUsed('the snapshot was written by another version'))
  set(good)
  t.match(await begin(undefined, 4), notUsed('the snapshot has more tokens than tokens.index_size allows'))
  t.match(await begin({ ...log, at: async () => undefined }), notUsed('the snapshot belongs to another event log'))
  const first = { ...(await log.first())!, id: 'another' }
  t.match(await begin({ ...log, first: async () => first }), notUsed('the snapshot belongs to another event log'))
  t.match(
    await begin({ ...log, at: (position) => log.at(position - 10n) }),
    notUsed('the snapshot belongs to another event log'),
    'nor where other events stand in the places of those that it holds',
  )
  set(undefined)
  t.same(await begin(), [], 'where there is none, nothing is said')
})

/** Snapshot writer for memory at a position, with the times of its writes. */
const keeping = () => {
  const clock = virtualClock()
  const written: (readonly [number, bigint])[] = []
  const errors: unknown[] = []
  const state = { position: 10n, may: true, fails: false, takes: 0 }
  const keeper = snapshotKeeper({
    clock,
    write: async ({ position }) => {
      if (state.fails) throw new Error('no room')
      if (state.takes > 0) await clock.sleep(state.takes)
      written.push([clock.monotonic(), position])
    },
    remembered: () => ({ position: state.position, events: 1, ahead: [] }),
    mayWrite: () => state.may,
    onError: (error) => void errors.push(error),
  })
  return { ...keeper, clock, written, errors, state }
}

await t.test('a memory snapshot is written soon after the start, after changes, and at the end', async (t) => {
  const { begin, end, clock, written, errors, state } = keeping()
  await end()
  await clock.advance(600_000)
  t.same(written, [], 'nothing is written of what has not begun')
  begin(undefined)
  await clock.advance(14_999)
  t.same(written, [])
  await clock.advance(1)
  t.same(written, [[615_000, 10n]], 'after fifteen seconds')
  state.position = 20n
  await clock.advance(299_999)
  t.equal(written.length, 1)
  await clock.advance(1)
  t.same(written[1], [915_000, 20n], 'and every five minutes')
  await clock.advance(600_000)
  t.equal(written.length, 2, 'where there is something new')
  state.fails = true
  state.position = 30n
  await clock.advance(600_000)
  t.equal(errors.length, 2, 'tried again')
  Object.assign(state, { fails: false, may: false })
  await clock.advance(600_000)
  t.equal(written.length, 2)
  state.may = true
  await end()
  t.same(written.slice(2), [[2_715_000, 30n]])
  t.same(clock.waiting(), [])
})

await t.test('a loaded memory snapshot is not written again, and the end waits at most 5 s for a write', async (t) => {
  const { begin, end, clock, written, state } = keeping()
  begin(10n)
  await clock.advance(15_000)
  t.same(written, [])
  state.position = 20n
  state.takes = 60_000
  const ended = noted(end())
  await clock.advance(4_999)
  t.same(ended, [])
  await clock.advance(1)
  t.same([ended, written], [[undefined], []])
})

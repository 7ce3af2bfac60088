import fc from 'fast-check'
import t from 'tap'
import { Refusal } from '../../src/base/errors.ts'
import { enveloper } from '../../src/commands/envelope.ts'
import { executor } from '../../src/commands/execute.ts'
import { token } from '../../src/commands/token.ts'
import type { EventLog, Stored } from '../../src/events/log.ts'
import { START } from '../../src/projections/engine/checkpoints.ts'
import { runner } from '../../src/projections/engine/runner.ts'
import { oversizedRows } from '../../src/projections/engine/written-rows.ts'
import { anyProjection } from '../../src/projections/projection.ts'
import { type TokenDoc, tokens } from '../../src/projections/tokens.ts'
import type { Row } from '../../src/projections/views.ts'
import { lagging, memoryLog } from '../memory-log.ts'
import { memoryViews } from '../memory-views.ts'
import { noted } from '../noted.ts'
import { virtualClock } from '../virtual-clock.ts'

const projection = anyProjection(tokens)
const clear = { seal: async (_: string, text: string) => text, open: async (text: string) => ({ text }) }
const context = { actor: { kind: 'system' } } as const

/**
 * Views of tokens that can be unreachable or hang. They refuse rows with keys in `large`; `puts` lists the keys of each
 * write.
 */
const tokenViews = () => {
  let down = false
  let hanging: Promise<void> | undefined
  let release = () => {}
  let looks = 0
  const puts: (readonly string[])[] = []
  const logs: (string | undefined)[] = []
  const large = new Set<string>()
  const { views, rowsOf, checkpoints } = memoryViews(async ({ name, rows }) => {
    if (down) throw new Error('views are out of reach')
    if (name === 'getMany') looks++
    if (name !== 'put') return
    await hanging
    if (rows.some(({ key }) => large.has(key))) throw new Refusal('body_too_large')
    logs.push(checkpoints.get(tokens.name)?.log)
    puts.push(rows.map(({ key }) => key))
  })
  return {
    views,
    rows: rowsOf(tokens),
    puts,
    /** Log id of each write. */
    logs,
    large,
    setDown: (is: boolean) => void (down = is),
    setHanging: (is: boolean) => {
      release()
      hanging = is ? new Promise((resolve) => (release = resolve)) : undefined
    },
    /** Number of reads. */
    looks: () => looks,
    checkpoint: () => checkpoints.get(tokens.name)?.position,
  }
}

/** Instance on a log with a virtual clock. */
const begun = (log: EventLog, more: Partial<Begin> = {}) => {
  const { clock = virtualClock(), store = tokenViews(), kept = projection, ...options } = more
  const memory = new Map<string, Row>()
  const errors: unknown[] = []
  const older: string[] = []
  const remember = (_: unknown, row: Row) => {
    if ((memory.get(row.key)?.revision ?? -1n) > row.revision) older.push(row.key)
    memory.set(row.key, row)
  }
  const run = runner({
    clock,
    log,
    views: store.views,
    projections: [kept],
    remember,
    onError: (error) => errors.push(error),
    ...options,
  })
  return { ...run, clock, store, memory, errors, older }
}
type Begin = {
  readonly clock: ReturnType<typeof virtualClock>
  readonly store: ReturnType<typeof tokenViews>
  readonly kept: typeof projection
  readonly writes: () => boolean
}
const start = async (log: EventLog, more?: Partial<Begin>) => {
  const ours = begun(log, more)
  await ours.start()
  return ours
}
const reading = { writes: () => false }

const service = (log: EventLog) => {
  const { execute } = executor(
    log,
    enveloper(clear, 'test', () => new Date('2026-01-01T00:00:00.000Z')),
    { clock: virtualClock() },
  )
  const issue = async (id: string, attributes: Readonly<Record<string, string>> = {}) => {
    const data = {
      id,
      digest: id,
      method: 'token',
      issuedAt: '2026-01-01T00:00:00.000Z',
      attributes,
      metadata: {},
    } as const
    return (await execute(token, id, 'IssueToken', data, context)).stored
  }
  const revoke = async (id: string) => (await execute(token, id, 'RevokeToken', { id }, context)).stored
  return { issue, revoke }
}

const statuses = (rows: ReadonlyMap<string, Row>) =>
  [...rows.values()]
    .map((row) => [row.key, String(row.revision), (row.doc as TokenDoc).deletedAt !== undefined] as const)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))

await t.test('a read model records the identity of its log before its first row', async (t) => {
  const log = memoryLog()
  const ours = await start(log)
  await ours.applied(await service(log).issue('a'))
  await ours.applied(await service(log).issue('b'))
  await ours.close()
  const first = (await log.first())!.id
  t.same(ours.store.logs, [first, first])
})

await t.test('appended events change memory at once, and their rows are written later', async (t) => {
  const log = memoryLog()
  const { issue } = service(log)
  const { applied, clock, memory, store, close } = await start(log)
  store.setHanging(true)
  const stored = await issue('a')
  const rows = await applied(stored)
  t.match(rows(tokens, 'a'), { key: 'a', doc: { id: 'a' } })
  t.equal(rows(tokens, 'b'), undefined)
  t.ok(memory.has('a'))
  t.notOk(store.rows.has('a'), 'no command waits for the views')
  store.setHanging(false)
  await clock.settle()
  t.ok(store.rows.has('a'))
  await close()
})

await t.test('an appended event that also arrives from the log is applied once', async (t) => {
  const [inner, folded, reads] = [memoryLog(), [] as string[], [] as string[]]
  const log: EventLog = { ...inner, read: (stream, from) => (reads.push(stream), inner.read(stream, from)) }
  const read: typeof projection.read = (wire, json) => (folded.push(wire), projection.read(wire, json))
  const { issue, revoke } = service(inner)
  const ours = await start(log, { kept: { ...projection, read } })
  const issued = await issue('a')
  t.ok(await ours.seen(await log.head(), 1000))
  t.match((await ours.applied(issued))(tokens, 'a'), { revision: 0n, doc: { id: 'a' } })
  t.strictSame(folded, ['TokenIssued'])
  await ours.applied(await revoke('a'))
  t.match(ours.memory.get('a'), { revision: 1n, doc: { id: 'a' } })
  t.strictSame([folded, reads], [['TokenIssued', 'TokenRevoked'], []])
  await ours.close()
})

await t.test('events of other instances are applied in order, never an older row after a newer one', async (t) => {
  const log = memoryLog()
  const { issue, revoke } = service(log)
  const ours = await start(log)
  const stored = await issue('a')
  await revoke('a')
  t.ok(await ours.seen(await log.head(), 1000))
  await ours.applied(stored)
  t.strictSame(statuses(ours.memory), [['a', '1', true]], 'its own event, applied late, brings nothing back')
  t.strictSame(ours.older, [])
  await ours.close()
})

await t.test('a call that waits for an event returns exactly at its timeout', async (t) => {
  const log = memoryLog()
  const ours = await start(log)
  const seen = noted(ours.seen(10n, 1_000))
  await ours.clock.advance(999)
  t.strictSame(seen, [])
  await ours.clock.advance(1)
  t.strictSame(seen, [false])
  const later = noted(ours.seen(10n, 1_000))
  await ours.clock.advance(999)
  await service(log).issue('a')
  await ours.clock.settle()
  t.strictSame(later, [true])
  await ours.close()
})

await t.test('an interrupted subscription resumes after 250 ms at its position', async (t) => {
  const inner = memoryLog()
  const { issue } = service(inner)
  const follows: (readonly [number, bigint])[] = []
  let breaking = new AbortController()
  const clock = virtualClock()
  const log: EventLog = {
    ...inner,
    follow: async function* (after, signal) {
      follows.push([clock.monotonic(), after])
      breaking = new AbortController()
      yield* inner.follow(after, AbortSignal.any([signal, breaking.signal]))
      if (!signal.aborted) throw new Error('broken off')
    },
  }
  const ours = await start(log, { clock })
  await issue('a')
  t.ok(await ours.seen(10n, 1000))
  breaking.abort()
  await issue('b')
  await clock.advance(249)
  t.notOk(ours.memory.has('b'))
  t.match(ours.errors, [/broken off/])
  await clock.advance(1)
  t.ok(ours.memory.has('b'))
  t.strictSame(follows, [
    [0, 0n],
    [250, 10n],
  ])
  await ours.close()
})

await t.test('an instance that does not write read models checks every 250 ms whether they are built', async (t) => {
  const log = memoryLog()
  const [clock, store] = [virtualClock(), tokenViews()]
  const reader = begun(log, { clock, store, ...reading })
  const started = noted(reader.start())
  await clock.advance(600)
  t.strictSame(started, [])
  const writer = await start(log, { clock, store })
  await clock.advance(149)
  t.strictSame(started, [])
  await clock.advance(1)
  t.strictSame(started, [undefined])
  await reader.close()
  await writer.close()
})

await t.test('an aborted start waits at most one more second for the log', async (t) => {
  const inner = memoryLog()
  await service(inner).issue('a')
  const clock = virtualClock()
  const log: EventLog = {
    ...inner,
    follow: (_, signal) => inner.follow(1_000n, signal),
  }
  const store = tokenViews()
  await (await start(inner, { store })).close()
  await service(inner).issue('b')
  const ours = begun(log, { clock, store })
  const started = noted(ours.start())
  await clock.advance(10_500)
  t.strictSame(started, [])
  await ours.close()
  await clock.advance(499)
  t.strictSame(started, [])
  await clock.advance(1)
  t.strictSame(started, [undefined])
})

await t.test('unreachable read models make no command fail, and receive all rows later', async (t) => {
  const log = memoryLog()
  const { issue } = service(log)
  const ours = await start(log)
  ours.store.setDown(true)
  await ours.applied(await issue('own'))
  await issue('other')
  t.ok(await ours.seen(await log.head(), 1000))
  t.strictSame([...ours.memory.keys()].sort(), ['other', 'own'])
  await ours.clock.settle()
  t.equal(ours.errors.length, 1, 'the rows are not written')
  ours.store.setDown(false)
  await ours.clock.advance(249)
  t.strictSame([...ours.store.rows.keys()], [])
  await ours.clock.advance(1)
  t.strictSame([...ours.store.rows.keys()].sort(), ['other', 'own'], 'the write is retried a quarter of a second later')
  await ours.close()
})

await t.test('an instance that does not write the read models follows the log in memory', async (t) => {
  const log = memoryLog()
  const { issue } = service(log)
  const store = tokenViews()
  const writer = await start(log, { store })
  const reader = await start(log, { store, ...reading })
  await writer.applied(await issue('a'))
  t.ok(await reader.seen(await log.head(), 1000))
  t.ok(reader.memory.has('a'))
  await reader.close()
  await writer.close()
})

await t.test('read models that hang block neither memory nor commands', async (t) => {
  const log = memoryLog()
  const { issue, revoke } = service(log)
  const ours = await start(log)
  ours.store.setHanging(true)
  const applying = ours.applied(await issue('a'))
  await revoke('a')
  t.ok(await ours.seen(await log.head(), 1000))
  t.strictSame(statuses(ours.memory), [['a', '1', true]])
  ours.store.setHanging(false)
  await applying
  await ours.close()
})

await t.test('an instance that takes over the read models writes the rows that the other one lacked', async (t) => {
  const log = memoryLog()
  const { issue, revoke } = service(log)
  const store = tokenViews()
  const other = await start(log, { store })
  await other.applied(await issue('a'))
  await other.applied(await revoke('a'))
  await other.clock.settle()
  t.equal(store.checkpoint(), 0n, 'its rows are written, its checkpoint is not')
  store.setDown(true)
  await issue('b')
  await other.applied(await issue('c'))
  await other.close()
  store.setDown(false)
  const ours = await start(log, { store })
  await ours.clock.settle()
  t.equal(ours.viewPosition(), await log.head())
  t.strictSame(statuses(store.rows), [
    ['a', '1', true],
    ['b', '0', false],
    ['c', '0', false],
  ])
  await ours.close()
})

/** Instance with the token `a` from the views, on a log with a lagging leader. */
const knowingOne = async () => {
  const log = memoryLog()
  const { issue, revoke } = service(log)
  const leader = lagging(log)
  const before = await start(leader.log)
  await before.applied(await issue('a'))
  await before.clock.settle()
  await before.close()
  const ours = await start(leader.log, { store: before.store })
  await ours.clock.settle()
  return { log, revoke, leader, ours }
}

await t.test('events that arrive from the log are applied before reads return them', async (t) => {
  const { log, revoke, leader, ours } = await knowingOne()
  t.equal(ours.viewPosition(), await log.head())
  leader.hide(({ type }) => type === 'TokenRevoked')
  await revoke('a')
  const head = await log.head()
  t.ok(await ours.seen(head, 1000))
  t.strictSame(statuses(ours.memory), [['a', '1', true]])
  await ours.clock.advance(100)
  t.equal(ours.viewPosition(), head)
  t.strictSame(statuses(ours.store.rows), [['a', '1', true]])
  t.strictSame(ours.errors, [])
  await ours.close()
})

await t.test('an event is not applied before the events ahead of it are visible', async (t) => {
  const { log, revoke, leader, ours } = await knowingOne()
  leader.hide(({ stream }) => stream === 'token-a')
  const own = await revoke('a')
  const head = await log.head()
  const seen = noted(ours.seen(head, 2_000))
  const applied = noted(ours.applied(own))
  await ours.clock.advance(2_000)
  t.strictSame(seen, [false])
  t.strictSame(statuses(ours.memory), [['a', '0', false]])
  t.match(applied, [new Refusal('backend_unavailable')], 'nor does a command answer with less than it did')
  t.ok(ours.errors.length > 0, 'it says so, and goes on asking')
  leader.hide(() => false)
  const then = noted(ours.seen(head, 5_000))
  await ours.clock.advance(5_000)
  t.strictSame(then, [true])
  t.strictSame(statuses(ours.memory), [['a', '1', true]])
  t.strictSame(ours.older, [])
  await ours.close()
})

await t.test('read models are equal in memory, after a restart and after a rebuild', async () => {
  const steps = fc.array(
    fc.record({ id: fc.constantFrom('a', 'b', 'c', 'd'), own: fc.boolean(), late: fc.boolean() }),
    { maxLength: 30 },
  )
  await fc.assert(
    fc.asyncProperty(steps, async (history) => {
      const log = memoryLog()
      const { issue, revoke } = service(log)
      const ours = await start(log)
      const late: (readonly Stored[])[] = []
      const known = new Set<string>()
      for (const { id, own, late: isLate } of history) {
        const stored = known.has(id) ? await revoke(id) : await issue(id)
        known.add(id)
        if (own && isLate) late.push(stored)
        else if (own) await ours.applied(stored)
      }
      for (const stored of late) if (stored.length > 0) await ours.applied(stored)
      const head = await log.head()
      const hasSeen = await ours.seen(head, 1000)
      await ours.clock.advance(200)
      const isThere = hasSeen && ours.viewPosition() === head
      const expected = statuses(ours.memory)
      await ours.close()
      const restarted = await start(log, { store: ours.store })
      const rebuilt = await start(log)
      const all = [
        statuses(ours.store.rows),
        statuses(restarted.memory),
        statuses(rebuilt.memory),
        statuses(rebuilt.store.rows),
      ]
      await restarted.close()
      await rebuilt.close()
      const areSame = all.every((other) => JSON.stringify(other) === JSON.stringify(expected))
      return isThere && ours.older.length === 0 && areSame
    }),
    { numRuns: 60 },
  )
})

await t.test('the checkpoint of a read model contains the last event and the number of events', async (t) => {
  const log = memoryLog()
  const { issue } = service(log)
  const ours = await start(log)
  for (const id of ['a', 'b', 'c']) await ours.applied(await issue(id))
  const head = await log.head()
  await ours.clock.settle()
  t.equal(ours.viewPosition(), head)
  t.equal(await ours.viewLag(), 3)
  await ours.clock.advance(249)
  t.equal(ours.store.checkpoint(), 0n)
  await ours.clock.advance(1)
  t.equal(ours.store.checkpoint(), head, 'a quarter of a second after the last event')
  t.equal(await ours.viewLag(), 0)
  ours.store.setHanging(true)
  for (const id of ['d', 'e']) await issue(id)
  await ours.clock.advance(60_000)
  t.equal(await ours.viewLag(), 2)
  ours.store.setHanging(false)
  await ours.clock.settle()
  t.equal(await ours.viewLag(), 1, 'at once where the last time is long ago')
  await ours.clock.advance(249)
  t.equal(await ours.viewLag(), 1)
  await ours.clock.advance(1)
  t.equal(await ours.viewLag(), 0)
  await ours.close()
})

for (const [second, at, position] of [
  [249, 499, 20n],
  [251, 250, 10n],
] as const)
  await t.test(`during events the checkpoint moves every 250 ms (one event at ${second} ms)`, async (t) => {
    const log = memoryLog()
    const { issue } = service(log)
    const ours = await start(log)
    await issue('a')
    await ours.clock.advance(Math.min(second, at - 1))
    if (second < at) await issue('b')
    await ours.clock.advance(at - 1 - Math.min(second, at - 1))
    t.equal(ours.store.checkpoint(), 0n)
    await ours.clock.advance(1)
    t.equal(ours.store.checkpoint(), position, 'a quarter of a second after the last event')
    await ours.close()
  })

for (const [count, at] of [
  [999, 250],
  [1_000, 0],
] as const)
  await t.test(`the checkpoint moves after a thousand events (${count} events in all)`, async (t) => {
    const log = memoryLog({ pageSize: 1_000 })
    const { issue } = service(log)
    const ours = await start(log)
    for (let n = 0; n < count; n++) await issue(`token-${n}`)
    await ours.clock.settle()
    if (at > 0) {
      await ours.clock.advance(at - 1)
      t.equal(ours.store.checkpoint(), 0n)
      await ours.clock.advance(1)
    }
    t.equal(ours.store.checkpoint(), await log.head())
    await ours.close()
  })

await t.test('read models that accept no writes are reported as stalled', async (t) => {
  const log = memoryLog()
  const { issue } = service(log)
  const ours = await start(log)
  t.ok(ours.viewsAdvance())
  ours.store.setDown(true)
  await issue('a')
  await ours.clock.advance(2_499)
  t.ok(ours.viewsAdvance())
  await ours.clock.advance(1)
  t.notOk(ours.viewsAdvance())
  ours.store.setDown(false)
  await ours.clock.advance(249)
  t.notOk(ours.viewsAdvance())
  await ours.clock.advance(1)
  t.ok(ours.viewsAdvance(), 'at the next try')
  t.ok(ours.store.rows.has('a'))
  await ours.close()
})

await t.test('a wait for the read models ends when their rows are written', async (t) => {
  const log = memoryLog()
  const { issue } = service(log)
  const [clock, store] = [virtualClock(), tokenViews()]
  const ours = await start(log, { clock, store })
  const other = await start(log, { clock, store, ...reading })
  await issue('a')
  const head = await log.head()
  const elsewhere = noted(other.viewsReached(projection, head, 10_000))
  t.ok(await ours.viewsReached(projection, head, 10_000), 'though nothing would be looked at as time stands still')
  t.ok(store.rows.has('a'))
  await clock.advance(249)
  t.strictSame(elsewhere, [])
  await clock.advance(1)
  t.strictSame(elsewhere, [true], 'an instance that does not write them sees the checkpoint')
  store.setHanging(true)
  await issue('b')
  const late = noted(ours.viewsReached(projection, await log.head(), 20))
  await clock.advance(99)
  t.strictSame(late, [])
  await clock.advance(1)
  t.strictSame(late, [false], 'after its time, and one look more')
  store.setHanging(false)
  await other.close()
  await ours.close()
})

await t.test('a start with an empty log completes at once', async (t) => {
  const ours = await start(memoryLog())
  t.equal(ours.position(), 0n)
  t.equal(ours.store.checkpoint(), 0n)
  await ours.close()
})

await t.test('a document that is too large holds back only the checkpoint of its read model', async (t) => {
  const [flags, others] = [{ ...anyProjection(tokens), name: 'flags' }, anyProjection(tokens)]
  const all = (position: bigint) => new Map([flags, others].map((each) => [each, { ...START, position }]))
  const large = { put: async () => Promise.reject(new Refusal('body_too_large')) }
  let reached = all(3n)
  const fitting = oversizedRows(
    large,
    () => reached,
    () => {},
  )
  await fitting.put(flags, [{ key: 'a', revision: 4n, position: 4n, changes: 5n, doc: {} }])
  reached = all(9n)
  await fitting.put(flags, [{ key: 'b', revision: 7n, position: 7n, changes: 8n, doc: {} }])
  const behind = () => [flags, others].map((each) => fitting.behind(reached).get(each)?.position)
  t.same(behind(), [3n, 9n])
  fitting.holds(flags, 'a')
  fitting.holds(flags, 'b')
  t.same(behind(), [9n, 9n])
})

await t.test('all rows of a batch are written, except one that is too large', async (t) => {
  const put: string[] = []
  const told: unknown[] = []
  const views = {
    put: async (_: unknown, rows: readonly Row[]) => {
      if (rows.some(({ key }) => key === 'large')) throw new Refusal('body_too_large')
      put.push(...rows.map(({ key }) => key))
    },
  }
  const fitting = oversizedRows(
    views,
    () => new Map(),
    (error) => told.push(error),
  )
  const row = (key: string): Row => ({ key, revision: 0n, position: 1n, changes: 1n, doc: {} })
  const fitted = await fitting.put(projection, ['one', 'large', 'two'].map(row))
  t.strictSame(
    fitted.map(({ key }) => key),
    ['one', 'two'],
  )
  t.strictSame(put, ['one', 'two'])
  t.equal(fitting.count(), 1)
  t.match(told, [{ message: 'tokens large is larger than a read model accepts, so lists show its earlier state' }])
})

await t.test('a document is reported again if it fitted in the meantime', async (t) => {
  let [limit, told] = [0, 0]
  const views = {
    put: async () => {
      if (limit === 0) throw new Refusal('body_too_large')
    },
  }
  const fitting = oversizedRows(
    views,
    () => new Map(),
    () => told++,
  )
  const row: Row = { key: 'a', revision: 0n, position: 1n, changes: 1n, doc: {} }
  for (limit of [0, 0, 1, 0, 0]) await fitting.put(projection, [row])
  t.equal(told, 2)
})

await t.test('a document that is too large is reported once, and is complete in memory', async (t) => {
  const log = memoryLog()
  const { issue, revoke } = service(log)
  const store = tokenViews()
  const first = await start(log, { store })
  await issue('large')
  await issue('before')
  const good = await log.head()
  await first.clock.advance(200)
  t.strictSame([store.rows.size, first.viewPosition()], [2, good])
  await first.close()
  t.equal(store.checkpoint(), good)

  store.large.add('large')
  const ours = await start(log, { store })
  await revoke('large')
  await issue('after')
  await ours.clock.advance(200)
  t.ok(store.rows.has('after'), 'others go on')
  await revoke('before')
  await ours.clock.advance(200)
  t.equal(store.rows.get('before')?.revision, 1n)
  t.equal(store.rows.get('large')?.revision, 0n)
  t.equal(ours.refusedRows(), 1)
  await ours.close()
  t.match(ours.errors, [/tokens large is larger than a read model accepts/])
  t.ok(store.checkpoint()! <= good, 'whoever starts finds in the log what is missing')

  const again = await start(log, { store })
  t.ok(await again.seen(await log.head(), 1000))
  t.equal(again.memory.get('large')?.revision, 1n)
  await again.clock.advance(200)
  t.equal(again.refusedRows(), 1)
  await again.close()
  store.large.clear()

  const last = await start(log, { store })
  await last.clock.advance(200)
  t.equal(store.rows.get('large')?.revision, 1n, 'when it fits it is written')
  t.equal(last.refusedRows(), 0)
  await last.close()
  t.equal(store.checkpoint(), await log.head())
})

await t.test('each appended event is written once and received once', async (t) => {
  const log = memoryLog()
  const { issue } = service(log)
  let follows = 0
  const follow: EventLog['follow'] = (after, signal) => (follows++, log.follow(after, signal))
  const ours = await start({ ...log, follow })
  for (let n = 0; n < 20; n++) {
    const stored = await issue(`token-${n}`)
    await ours.clock.advance(20)
    await ours.applied(stored)
  }
  await ours.clock.advance(100)
  t.equal(ours.viewPosition(), await log.head())
  t.equal(ours.store.puts.length, 20)
  t.equal(ours.store.looks(), 0, 'nor asked for')
  t.equal(follows, 1)
  await ours.close()
})

await t.test('rows that arrive during a write are written as one batch', async (t) => {
  const log = memoryLog()
  const { issue } = service(log)
  const ours = await start(log)
  ours.store.setHanging(true)
  const ids = Array.from({ length: 20 }, (_, n) => `token-${n}`)
  const applying = ids.map(async (id) => ours.applied(await issue(id)))
  t.ok(await ours.seen(await log.head(), 1000))
  await ours.clock.settle()
  ours.store.setHanging(false)
  await Promise.all(applying)
  await ours.clock.settle()
  t.equal(ours.store.puts.length, 2)
  t.strictSame(ours.store.puts.flat().sort(), ids.sort())
  await ours.close()
})

await t.test('read models that are far behind are written from the log first, then from memory', async (t) => {
  const inner = memoryLog()
  const { issue } = service(inner)
  const readings: (readonly [bigint, bigint | undefined])[] = []
  const readAll: EventLog['readAll'] = (after, to) => (readings.push([after, to]), inner.readAll(after, to))
  const ours = await start({ ...inner, readAll })
  ours.store.setDown(true)
  const large = { 'token.description': 'x'.repeat(1_048_576) }
  for (let n = 0; n < 20; n++) await issue(`token-${n}`, large)
  const head = await inner.head()
  t.ok(await ours.seen(head, 10_000))
  await ours.clock.advance(100)
  t.match(ours.errors, [/out of reach/])
  ours.store.setDown(false)
  await ours.clock.advance(350)
  t.equal(ours.viewPosition(), head)
  t.equal(ours.store.rows.size, 20)
  const before = readings.length
  t.strictSame(readings.at(-1), [0n, 160n], 'what is more than 16 MiB behind is read, and what came later is at hand')
  await issue('one-more')
  await ours.clock.advance(100)
  t.equal(ours.store.rows.size, 21)
  t.equal(readings.length, before)
  await ours.close()
})

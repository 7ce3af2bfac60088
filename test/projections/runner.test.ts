import fc from 'fast-check'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/clock.ts'
import { enveloper } from '../../src/commands/envelope.ts'
import { executor } from '../../src/commands/execute.ts'
import { token } from '../../src/commands/token.ts'
import { Refusal } from '../../src/errors.ts'
import type { EventLog, Stored } from '../../src/events/log.ts'
import { anyProjection } from '../../src/projections/projection.ts'
import { START } from '../../src/projections/engine/checkpoints.ts'
import { fittingRows } from '../../src/projections/engine/fitting-rows.ts'
import { runner } from '../../src/projections/engine/runner.ts'
import { type TokenDoc, tokens } from '../../src/projections/tokens.ts'
import { type Checkpoint, type Row, supersedes, type Views } from '../../src/projections/views.ts'
import { lagging, memoryLog } from '../memory-log.ts'

const projection = anyProjection(tokens)
const clear = { seal: async (_: string, text: string) => text, open: async (text: string) => ({ text }) }
const context = { actor: { kind: 'system' } } as const

/** Views in memory that can be out of reach. */
const memoryViews = () => {
  const rows = new Map<string, Row>()
  let checkpoint: Checkpoint | undefined
  let down = false
  let hanging: Promise<void> | undefined
  let release = () => {}
  const puts: (readonly string[])[] = []
  const setHanging = (is: boolean) => {
    release()
    hanging = is ? new Promise((resolve) => (release = resolve)) : undefined
  }
  const up = () => {
    if (down) throw new Error('views are out of reach')
  }
  const put = (given: readonly Row[]) => {
    for (const row of given) {
      const there = rows.get(row.key)
      if (!there || supersedes(row, there)) rows.set(row.key, row)
    }
  }
  const views = {
    getMany: async (_: unknown, keys: readonly string[]) => (up(), keys.flatMap((key) => rows.get(key) ?? [])),
    put: async (_: unknown, given: readonly Row[]) => {
      up()
      await hanging
      puts.push(given.map(({ key }) => key))
      put(given)
    },
    scan: async function* () {
      up()
      yield [...rows.values()]
    },
    checkpoint: async () => (up(), checkpoint),
    mark: async (_: unknown, from: bigint | undefined, to: Checkpoint) => {
      up()
      if (checkpoint?.position !== from) return false
      checkpoint = to
      return true
    },
    build: async () => ({
      checkpoint: undefined,
      getMany: async (keys: readonly string[]) => keys.flatMap((key) => rows.get(key) ?? []),
      put: async (given: readonly Row[]) => put(given),
      mark: async () => undefined,
      swap: async (to: Checkpoint) => void (checkpoint = to),
      leave: async () => undefined,
      discard: async () => undefined,
    }),
  } as unknown as Views
  return {
    views,
    rows,
    puts,
    setDown: (is: boolean) => void (down = is),
    setHanging,
    checkpoint: () => checkpoint?.position,
  }
}

const start = async (log: EventLog, store = memoryViews(), writes = () => true, laterMs = 1, kept = projection) => {
  const memory = new Map<string, Row>()
  const errors: unknown[] = []
  const older: string[] = []
  const remember = (_: unknown, row: Row) => {
    if ((memory.get(row.key)?.revision ?? -1n) > row.revision) older.push(row.key)
    memory.set(row.key, row)
  }
  const run = runner({
    clock: systemClock,
    log,
    views: store.views,
    projections: [kept],
    remember,
    writes,
    onError: (error) => errors.push(error),
    retryMs: 5,
    laterMs,
  })
  await run.start()
  return { ...run, store, memory, errors, older }
}

const service = (log: EventLog) => {
  const { execute } = executor(
    log,
    enveloper(clear, 'test', () => new Date('2026-01-01T00:00:00.000Z')),
    { clock: systemClock },
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

void t.test('a view says which log it is of before it has a row', async (t) => {
  const log = memoryLog()
  const store = memoryViews()
  const logs: (string | undefined)[] = []
  const { put } = store.views
  const views = {
    ...store.views,
    put: async (view: typeof projection, rows: readonly Row[]) => {
      logs.push((await store.views.checkpoint(view))?.log)
      await put(view, rows)
    },
  }
  const run = await start(log, { ...store, views } as typeof store)
  await run.applied(await service(log).issue('a'))
  await run.applied(await service(log).issue('b'))
  await run.close()
  const first = (await log.first())!.id
  t.same(logs, [first, first])
})

const eventually = async (holds: () => boolean | Promise<boolean>) => {
  for (let n = 0; n < 400; n++) {
    if (await holds()) return true
    await new Promise((wake) => setTimeout(wake, 5))
  }
  return false
}

await t.test('what an instance appends it knows at once, in memory and in the views', async (t) => {
  const log = memoryLog()
  const { issue } = service(log)
  const { applied, memory, store, close } = await start(log)
  const stored = await issue('a')
  const rows = await applied(stored)
  t.match(rows(tokens, 'a'), { key: 'a', doc: { id: 'a' } })
  t.equal(rows(tokens, 'b'), undefined)
  t.ok(memory.has('a'))
  t.ok(store.rows.has('a'))
  await close()
})

await t.test('an own event that following brought first is folded once, and the next one reads no log', async (t) => {
  const [inner, folded, reads] = [memoryLog(), [] as string[], [] as string[]]
  const log: EventLog = { ...inner, read: (stream, from) => (reads.push(stream), inner.read(stream, from)) }
  const read: typeof projection.read = (wire, json) => (folded.push(wire), projection.read(wire, json))
  const { issue, revoke } = service(inner)
  const ours = await start(log, memoryViews(), () => true, 1, { ...projection, read })
  const issued = await issue('a')
  t.ok(await ours.seen(await log.head(), 1000))
  t.match((await ours.applied(issued))(tokens, 'a'), { revision: 0n, doc: { id: 'a' } })
  t.strictSame(folded, ['TokenIssued'])
  t.match((await ours.applied(await revoke('a')))(tokens, 'a'), { revision: 1n, doc: { id: 'a' } })
  t.strictSame([folded, reads], [['TokenIssued', 'TokenRevoked'], []])
  await ours.close()
})

await t.test('what others append arrives by following, and an older row never comes after a newer one', async (t) => {
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

await t.test(
  'views out of reach fail no command and keep nothing from memory; they catch up by themselves',
  async (t) => {
    const log = memoryLog()
    const { issue } = service(log)
    const ours = await start(log)
    ours.store.setDown(true)
    await ours.applied(await issue('own'))
    await issue('other')
    t.ok(await ours.seen(await log.head(), 1000))
    t.strictSame([...ours.memory.keys()].sort(), ['other', 'own'])
    t.ok(ours.errors.length > 0)
    ours.store.setDown(false)
    for (let n = 0; n < 200 && ours.store.rows.size < 2; n++) await new Promise((wake) => setTimeout(wake, 5))
    t.strictSame([...ours.store.rows.keys()].sort(), ['other', 'own'])
    await ours.close()
  },
)

await t.test('an instance that does not write the views still follows in memory', async (t) => {
  const log = memoryLog()
  const { issue } = service(log)
  const store = memoryViews()
  const writer = await start(log, store)
  const reader = await start(log, store, () => false)
  await writer.applied(await issue('a'))
  t.ok(await reader.seen(await log.head(), 1000))
  t.ok(reader.memory.has('a'))
  await reader.close()
  await writer.close()
})

await t.test('views that hang hold up neither memory nor what others do to the same stream', async (t) => {
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

await t.test('what another instance has written is not written again, and what it left out is', async (t) => {
  const log = memoryLog()
  const { issue, revoke } = service(log)
  const store = memoryViews()
  await (await start(log, store)).close()
  const other = await start(log, store, () => false)
  await other.applied(await issue('a'))
  await other.applied(await revoke('a'))
  await issue('b')
  await other.applied(await issue('c'))
  const before = store.puts.length
  const ours = await start(log, store)
  const head = await log.head()
  for (let n = 0; n < 1000 && ours.viewPosition() < head; n++) await new Promise((wake) => setTimeout(wake, 1))
  t.strictSame(store.puts.slice(before), [['b']])
  t.strictSame(statuses(store.rows), [
    ['a', '1', true],
    ['b', '0', false],
    ['c', '0', false],
  ])
  await ours.close()
  await other.close()
})

/** An instance that has the token `a` from the views, on a log whose leader can be told to show less than it delivers. */
const knowingOne = async (t: Test) => {
  const log = memoryLog()
  const { issue, revoke } = service(log)
  const leader = lagging(log)
  const before = await start(leader.log)
  await before.applied(await issue('a'))
  const head = await log.head()
  t.ok(await eventually(() => before.viewPosition() === head))
  await before.close()
  const ours = await start(leader.log, before.store)
  t.ok(await ours.seen(await log.head(), 1000))
  return { log, revoke, leader, ours }
}

await t.test(
  'what is delivered before reads show it is in memory and in the views, and nothing older is',
  async (t) => {
    const { log, revoke, leader, ours } = await knowingOne(t)
    leader.hide(({ type }) => type === 'TokenRevoked')
    await revoke('a')
    const head = await log.head()
    t.ok(await ours.seen(head, 1000))
    t.strictSame(statuses(ours.memory), [['a', '1', true]])
    t.ok(await eventually(() => ours.viewPosition() === head))
    t.strictSame(statuses(ours.store.rows), [['a', '1', true]])
    t.strictSame(ours.errors, [])
    await ours.close()
  },
)

await t.test(
  'where the events before a delivered one are not shown, nothing is remembered of it before they are',
  async (t) => {
    const { log, revoke, leader, ours } = await knowingOne(t)
    leader.hide(({ stream }) => stream === 'token-a')
    const own = await revoke('a')
    t.notOk(await ours.seen(await log.head(), 100))
    t.strictSame(statuses(ours.memory), [['a', '0', false]])
    await t.rejects(
      ours.applied(own),
      new Refusal('backend_unavailable'),
      'nor does a command answer with less than it did',
    )
    t.ok(await eventually(() => ours.errors.length > 0), 'it says so, and goes on asking')
    leader.hide(() => false)
    t.ok(await ours.seen(await log.head(), 5000))
    t.strictSame(statuses(ours.memory), [['a', '1', true]])
    t.strictSame(ours.older, [])
    await ours.close()
  },
)

await t.test('any history: memory, live views, views of a restart and views built anew are the same', async () => {
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
      await ours.seen(await log.head(), 1000)
      for (let n = 0; n < 200 && ours.viewPosition() < (await log.head()); n++)
        await new Promise((wake) => setTimeout(wake, 1))
      const expected = statuses(ours.memory)
      await ours.close()
      const restarted = await start(log, ours.store)
      const rebuilt = await start(log)
      const all = [
        statuses(ours.store.rows),
        statuses(restarted.memory),
        statuses(rebuilt.memory),
        statuses(rebuilt.store.rows),
      ]
      await restarted.close()
      await rebuilt.close()
      return ours.older.length === 0 && all.every((other) => JSON.stringify(other) === JSON.stringify(expected))
    }),
    { numRuns: 60 },
  )
})

await t.test('the checkpoint follows the last event too, and says how many there were', async (t) => {
  const log = memoryLog()
  const { issue } = service(log)
  const ours = await start(log)
  for (const id of ['a', 'b', 'c']) await ours.applied(await issue(id))
  const head = await log.head()
  t.ok(await eventually(() => ours.store.checkpoint() === head))
  t.equal(await ours.viewLag(), 0)
  ours.store.setHanging(true)
  for (const id of ['d', 'e']) await issue(id)
  t.ok(await ours.seen(await log.head(), 1000))
  t.equal(await ours.viewLag(), 2)
  ours.store.setHanging(false)
  t.ok(await eventually(async () => (await ours.viewLag()) === 0))
  await ours.close()
})

await t.test('views that take nothing are told as not advancing, until they do again', async (t) => {
  const log = memoryLog()
  const { issue } = service(log)
  const ours = await start(log)
  t.ok(ours.viewsAdvance())
  ours.store.setDown(true)
  await issue('a')
  for (let n = 0; n < 2_000 && ours.viewsAdvance(); n++) await new Promise((wake) => setTimeout(wake, 5))
  t.notOk(ours.viewsAdvance())
  ours.store.setDown(false)
  t.ok(await eventually(ours.viewsAdvance))
  t.ok(ours.store.rows.has('a'))
  await ours.close()
})

await t.test('who waits for the views waits no longer than they take', async (t) => {
  const log = memoryLog()
  const { issue } = service(log)
  const store = memoryViews()
  const never = 3_600_000
  const ours = await start(log, store, () => true, never)
  const other = await start(log, store, () => false)
  await issue('a')
  const head = await log.head()
  const elsewhere = other.viewsReached(projection, head, 10_000)
  t.ok(await ours.viewsReached(projection, head, 10_000), 'though nothing would be looked at for an hour')
  t.ok(store.rows.has('a'))
  t.ok(await elsewhere, 'an instance that does not write them sees the checkpoint')
  store.setHanging(true)
  await issue('b')
  t.notOk(await ours.viewsReached(projection, await log.head(), 20))
  store.setHanging(false)
  await other.close()
  await ours.close()
})

await t.test('a start with nothing in the log ends at once', async (t) => {
  const ours = await start(memoryLog())
  t.equal(ours.position(), 0n)
  t.equal(ours.store.checkpoint(), 0n)
  await ours.close()
})

/** Views that take no row of these keys. */
const narrow = (...keys: readonly string[]) => {
  const store = memoryViews()
  const large = new Set(keys)
  const put: Views['put'] = async (view, rows) => {
    if (rows.some(({ key }) => large.has(key))) throw new Refusal('body_too_large')
    await store.views.put(view, rows)
  }
  return { ...store, views: { ...store.views, put }, large }
}

await t.test('a document that is too large holds back the checkpoint of its own view alone', async (t) => {
  const [flags, others] = [{ ...anyProjection(tokens), name: 'flags' }, anyProjection(tokens)]
  const all = (position: bigint) => new Map([flags, others].map((each) => [each, { ...START, position }]))
  const large = { put: async () => Promise.reject(new Refusal('body_too_large')) }
  let reached = all(3n)
  const fitting = fittingRows(
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

await t.test('of rows put at once the one too large is left out, and all others are put', async (t) => {
  const put: string[] = []
  const told: unknown[] = []
  const views = {
    put: async (_: unknown, rows: readonly Row[]) => {
      if (rows.some(({ key }) => key === 'large')) throw new Refusal('body_too_large')
      put.push(...rows.map(({ key }) => key))
    },
  }
  const fitting = fittingRows(
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
  t.match(told, [{ message: 'tokens large is larger than the views take and stays behind' }])
})

await t.test(
  'a document too large for the views stays behind alone, is told of once, and is whole in memory after a restart',
  async (t) => {
    const log = memoryLog()
    const { issue, revoke } = service(log)
    const store = narrow()
    const first = await start(log, store)
    await issue('large')
    await issue('before')
    t.ok(await eventually(() => store.rows.size === 2))
    const good = await log.head()
    t.ok(await eventually(() => first.viewPosition() === good))
    await first.close()
    t.equal(store.checkpoint(), good)

    store.large.add('large')
    const ours = await start(log, store)
    await revoke('large')
    await issue('after')
    t.ok(await eventually(() => store.rows.has('after')), 'others go on')
    await revoke('before')
    t.ok(await eventually(() => (store.rows.get('before')?.revision ?? 0n) === 1n))
    t.equal(store.rows.get('large')?.revision, 0n)
    t.equal(ours.refusedRows(), 1)
    await ours.close()
    t.match(ours.errors, [/tokens large is larger than the views take/])
    t.ok(store.checkpoint()! <= good, 'whoever starts finds in the log what is missing')

    const again = await start(log, store)
    t.ok(await again.seen(await log.head(), 1000))
    t.equal(again.memory.get('large')?.revision, 1n)
    t.ok(await eventually(() => again.refusedRows() === 1))
    await again.close()
    store.large.clear()

    const last = await start(log, store)
    t.ok(await eventually(() => store.rows.get('large')?.revision === 1n), 'when it fits it is written')
    t.equal(last.refusedRows(), 0)
    await last.close()
    t.equal(store.checkpoint(), await log.head())
  },
)

await t.test(
  'what an instance appends, event after event, is written to the views once and followed once',
  async (t) => {
    const log = memoryLog()
    const { issue } = service(log)
    let follows = 0
    const store = memoryViews()
    let looks = 0
    const views: Views = {
      ...store.views,
      getMany: (view, keys) => (looks++, store.views.getMany(view, keys)),
    }
    const follow: EventLog['follow'] = (after, signal) => (follows++, log.follow(after, signal))
    const ours = await start({ ...log, follow }, { ...store, views }, () => true, 20)
    for (let n = 0; n < 20; n++) {
      const stored = await issue(`token-${n}`)
      await new Promise((wake) => setImmediate(wake))
      await ours.applied(stored)
    }
    const head = await log.head()
    t.ok(await eventually(() => ours.viewPosition() === head))
    t.equal(store.puts.length, 20)
    t.equal(looks, 0, 'nor asked for')
    t.equal(follows, 1)
    await ours.close()
  },
)

await t.test('rows that come while the views are at work go to them together', async (t) => {
  const log = memoryLog()
  const { issue } = service(log)
  const ours = await start(log, memoryViews(), () => true, 60_000)
  ours.store.setHanging(true)
  const ids = Array.from({ length: 20 }, (_, n) => `token-${n}`)
  const applying = ids.map(async (id) => ours.applied(await issue(id)))
  t.ok(await ours.seen(await log.head(), 1000))
  await new Promise((wake) => setTimeout(wake, 5))
  ours.store.setHanging(false)
  await Promise.all(applying)
  t.ok(ours.store.puts.length <= 2, `${ours.store.puts.length} writes`)
  t.strictSame(ours.store.puts.flat().sort(), ids.sort())
  await ours.close()
})

await t.test('views that are far behind are written from the log, and then from what memory was given', async (t) => {
  const log = memoryLog()
  const { issue } = service(log)
  const ours = await start(log)
  ours.store.setDown(true)
  const large = { 'token.description': 'x'.repeat(1_048_576) }
  for (let n = 0; n < 20; n++) await issue(`token-${n}`, large)
  const head = await log.head()
  t.ok(await ours.seen(head, 10_000))
  ours.store.setDown(false)
  t.ok(await eventually(() => ours.viewPosition() === head))
  t.equal(ours.store.rows.size, 20)
  await issue('one-more')
  t.ok(await eventually(() => ours.store.rows.size === 21))
  await ours.close()
})

import { randomBytes, randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { openEmbedded } from '../../src/adapters/embedded/open.ts'
import { openReadOnly } from '../../src/adapters/embedded/read-only.ts'
import { openDatabase } from '../../src/adapters/embedded/sqlite.ts'
import { asOfReads, type Wanted } from '../../src/as-of/reads.ts'
import { systemClock } from '../../src/base/clock.ts'
import type { Stored } from '../../src/events/log.ts'
import { advanced, START } from '../../src/projections/engine/checkpoints.ts'
import { logMarksAndStates, type State, stateSeals, stateView } from '../../src/projections/history/stream-states.ts'
import type { Row } from '../../src/projections/views.ts'
import { newDirectory } from '../adapters/embedded/store.ts'
import { flagCreated, namespaceCreated, ofFlag, segmentCreated, tokenIssued } from '../samples.ts'
import { never, second } from './history.ts'

const key = new Uint8Array(32)
const [, states] = logMarksAndStates(key)
type Told = { readonly type: string; readonly data: object }

const made = (flag: string) => ({ ...flagCreated, data: { ...flagCreated.data, key: flag } })
const renamed = (flag: string, name: string) => ({
  type: 'FlagUpdated',
  data: { ...ofFlag, key: flag, name: { from: '', to: name } },
})
const gone = (flag: string) => ({ type: 'FlagDeleted', data: { ...ofFlag, key: flag } })
const times = <T>(count: number, one: (n: number) => T) => Array.from({ length: count }, (_, n) => one(n))

/** Embedded store with these streams (events interleaved), all their states, and readers: batched and single. */
const store = async (t: Test, streams: Readonly<Record<string, readonly Told[]>>) => {
  const directory = await newDirectory(t)
  const { log, views, files, close } = await openEmbedded(directory, {
    clock: systemClock,
    kek: randomBytes(32),
    onError: (_, error) => t.fail(String(error)),
  })
  t.teardown(close)
  const longest = Math.max(...Object.values(streams).map(({ length }) => length))
  for (let n = 0; n < longest; n++) {
    const turn = Object.entries(streams).map(async ([stream, { [n]: told }]) => {
      if (!told) return
      const event = { id: randomUUID(), type: told.type, time: second(n), data: JSON.stringify(told.data), meta: '{}' }
      await log.append(stream, [event], n === 0 ? 'none' : BigInt(n - 1))
    })
    await Promise.all(turn)
  }
  const building = await views.build(states!)
  let checkpoint = START
  const kept: Row[] = []
  for await (const page of log.readAll(0n)) {
    const rows = await states!.rowsOf({ log, find: async () => [] }, checkpoint, page)
    await building.put(rows)
    kept.push(...rows)
    checkpoint = advanced(states!, checkpoint, page)
  }
  await building.swap(checkpoint)

  const opened = await openReadOnly(files.paths, systemClock, (_, error) => t.fail(error.message))
  t.teardown(opened.close)
  const alone = new Set<string>()
  const read: (typeof log)['read'] = (stream, ...more) => {
    alone.add(stream)
    return opened.log.read(stream, ...more)
  }
  const { together, ...single } = opened
  const bounds = { key, atOnce: 8 }
  const both = { ...bounds, ...single, log: { ...opened.log, read } }
  const all: Stored[] = []
  for await (const page of log.readAll(0n)) all.push(...page)
  return {
    directory,
    put: async (rows: readonly Row[]) => {
      await views.put(stateView, rows)
      await files.flushed()
    },
    kept: kept as readonly Row<State>[],
    all,
    head: await log.head(),
    reads: asOfReads({ ...both, together }),
    byOne: asOfReads({ ...bounds, ...single }),
    /** Streams that were read singly since the last call. */
    alone: () => {
      const streams = [...alone].sort()
      alone.clear()
      return streams
    },
  }
}

/** Reads all rows in parts; returns them with the size of each part. */
const allOf = async ({ rows }: ReturnType<typeof asOfReads>, position: bigint, wanted: readonly Wanted[]) => {
  const all: (Row | undefined)[] = []
  const parts: number[] = []
  while (all.length < wanted.length) {
    const some = await rows(position, wanted.slice(all.length), never)
    all.push(...some)
    parts.push(some.length)
  }
  return { all, parts }
}
const flagOf = (name: string): Wanted => ['flags', `ns+${name}`]

/** Streams of every model and kind: short, long, ended, recreated, unreadable. */
const kinds: Readonly<Record<string, readonly Told[]>> = {
  'namespace-ns': [namespaceCreated],
  'segment-ns+s': [segmentCreated],
  'token-t1': [tokenIssued, { type: 'TokenRevoked', data: { id: 't1' } }],
  'token-t2': [{ type: 'TokenShown', data: {} }, tokenIssued, { type: 'TokenRevoked', data: { id: 't1' } }],
  ...Object.fromEntries(
    times(20, (n) => [`flag-ns+f${n}`, [made(`f${n}`), ...times(n * 7, (m) => renamed(`f${n}`, `name ${m}`))]]),
  ),
  'flag-ns+gone': [made('gone'), ...times(32, (n) => renamed('gone', `name ${n}`)), gone('gone')],
  'flag-ns+again': [made('again'), ...times(30, (n) => renamed('again', `name ${n}`)), gone('again'), made('again')],
  'flag-ns+odd': [made('odd'), renamed('odd', 'x'), { type: 'FlagPainted', data: {} }, renamed('odd', 'y')],
  'flag-ns+odd2': [
    made('odd2'),
    ...times(39, (n) => renamed('odd2', `name ${n}`)),
    { type: 'FlagUpdated', data: { name: 1 } },
  ],
}
const everything: readonly Wanted[] = [
  ['namespaces', 'ns'],
  ['segments', 'ns+s'],
  ['tokens', 't1'],
  ['tokens', 't2'],
  ...times(20, (n) => flagOf(`f${n}`)),
  ...['gone', 'again', 'none', 'odd', 'odd2'].map(flagOf),
]

await t.test('reading many streams together gives the same result as reading each one alone', async (t) => {
  const { reads, byOne, alone, head } = await store(t, kinds)
  for (let position = 0n; position <= head; position += 23n) {
    const together = await allOf(reads, position, everything)
    t.strictSame(together.all, (await allOf(byOne, position, everything)).all, `at ${position}`)
    t.strictSame(together.parts, [16, 13])
  }
  await allOf(reads, head, everything)
  alone()
  const { all } = await allOf(reads, head, everything)
  t.strictSame(alone(), ['flag-ns+none'], 'only what was never there is looked for by itself')
  const found = new Map(all.map((row) => [row?.key, row]))
  t.match(found.get('ns+f19'), { doc: { name: 'name 132' }, changes: 134n })
  t.match(found.get('ns+gone'), { doc: undefined, revision: 33n })
  t.match(found.get('ns+odd'), { unreadable: { revision: '2', type: 'FlagPainted' } })
})

await t.test('a stored state that is forged or belongs to another log is ignored', async (t) => {
  const names = times(4, (n) => `f${n}`)
  const changed = (name: string) => [made(name), ...times(40, (n) => renamed(name, `name ${n}`))]
  const told = await store(t, Object.fromEntries(names.map((name) => [`flag-ns+${name}`, changed(name)])))
  const { seal } = stateSeals(key)
  const spoilt = told.kept.map(({ doc, ...row }, n) => {
    const lie = { ...doc!, text: doc!.text!.replaceAll('name', 'lie') }
    return { ...row, revision: 1n, doc: n % 2 === 0 ? lie : seal({ ...lie, event: randomUUID() }) }
  })
  await told.put(spoilt)
  const { all } = await allOf(told.reads, told.head, names.map(flagOf))
  t.match(
    all,
    names.map(() => ({ doc: { name: 'name 39' } })),
  )
  t.equal(told.alone().length, 4)
})

await t.test('a stream with a missing event is read alone, and its document is reported as unreadable', async (t) => {
  const names = times(3, (n) => `f${n}`)
  const changed = (name: string) => [made(name), ...times(5, (n) => renamed(name, `name ${n}`))]
  const told = await store(t, Object.fromEntries(names.map((name) => [`flag-ns+${name}`, changed(name)])))
  const database = await openDatabase(`${told.directory}/events.sqlite`, 'durable')
  database.exec("drop trigger events_never_go; delete from events where stream = 'flag-ns+f1' and revision = 2")
  database.close()
  const { all } = await allOf(told.reads, told.head, names.map(flagOf))
  t.match(all, [{ doc: { name: 'name 4' } }, { unreadable: { revision: '2', type: '' } }, { doc: { name: 'name 4' } }])
  t.strictSame(told.alone(), ['flag-ns+f1'])
})

await t.test('large documents are returned in small batches of at least one document', async (t) => {
  const long = (size: number) => (name: string) => [
    { ...made(name), data: { ...made(name).data, description: 'd'.repeat(size) } },
    ...times(33, (n) => renamed(name, `name ${n}`)),
  ]
  const of = (size: number, begin: string, count: number) =>
    Object.fromEntries(times(count, (n) => [`flag-ns+${begin}${n}`, long(size)(`${begin}${n}`)]))
  const told = await store(t, { ...of(100_000, 'l', 8), ...of(1_000_000, 'h', 2), ...of(10, 's', 2) })
  const wanted = ['s0', ...times(8, (n) => `l${n}`), 'h0', 'h1', 's1'].map(flagOf)
  for (const position of [told.all[11]!.position, told.all[200]!.position, told.head]) {
    const { all, parts } = await allOf(told.reads, position, wanted)
    t.strictSame(all, (await allOf(told.byOne, position, wanted)).all)
    t.ok(parts.length >= 4, `in parts of ${parts.join(', ')}`)
  }
})

await t.test('an aborted read stops between two documents', async (t) => {
  const { reads, head } = await store(t, kinds)
  const stop = new AbortController()
  const reading = reads.rows(head, everything, stop.signal)
  stop.abort(new Error('left'))
  await t.rejects(reading, { message: 'left' })
})

await t.test('concurrent reads wait in a queue, and each returns its own result', async (t) => {
  const { reads, head } = await store(t, kinds)
  const answers = await Promise.all(times(40, async () => allOf(reads, head, everything)))
  for (const { all } of answers) t.strictSame(all, answers[0]!.all)
})

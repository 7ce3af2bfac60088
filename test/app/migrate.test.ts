import { deepStrictEqual } from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, copyFile, readFile, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { openKeyFile } from '../../src/adapters/embedded/files/secret-file.ts'
import { openEmbedded } from '../../src/adapters/embedded/open.ts'
import { openDatabase } from '../../src/adapters/embedded/sqlite.ts'
import { type HistoryStore, migrate } from '../../src/app/migrate/copy.ts'
import { systemClock } from '../../src/base/clock.ts'
import { EXIT, isFailure } from '../../src/base/failure.ts'
import type { EventLog, Stored } from '../../src/events/log.ts'
import { type Keys, sealer } from '../../src/events/personal.ts'
import { newDirectory } from '../adapters/embedded/store.ts'
import { rollcall } from '../cli/service.ts'
import { collect, happened } from '../contracts/log.ts'
import { memoryLog } from '../memory-log.ts'
import { startService } from '../start.ts'
import { eventually } from '../wait.ts'

const MAIN = resolve(import.meta.dirname, '../../src/main.js')
const pepper = { kid: 'p1', key: new Uint8Array(32).fill(7) }
const options = { dryRun: false, progress: () => {}, signal: new AbortController().signal }

type MovedKeys = Pick<Keys, 'make' | 'find' | 'destroy'>
const memoryKeys = (): MovedKeys & { readonly all: Map<string, Uint8Array | 'erased'> } => {
  const all = new Map<string, Uint8Array | 'erased'>()
  return {
    all,
    make: async (subject, given = crypto.getRandomValues(new Uint8Array(32))) => {
      if (!all.has(subject)) all.set(subject, given)
      return all.get(subject)!
    },
    find: async (subject) => all.get(subject),
    destroy: async (subject) => void all.set(subject, 'erased'),
  }
}
const place = (log: EventLog = memoryLog(), keys: MovedKeys = memoryKeys()): HistoryStore => ({ log, keys, pepper })
const content = (events: readonly Stored[]) =>
  events.map(({ position: _position, ...event }) => ({ ...event, revision: String(event.revision) }))
const of = async (log: EventLog) => content(await collect(log.readAll(0n)))

/** Returns the message and exit code of a failed migration. */
const failure = async (move: Promise<unknown>) =>
  move.then(
    () => undefined,
    (error: unknown) => (isFailure(error) ? { exit: EXIT[error.kind], message: error.message } : Promise.reject(error)),
  )

/** Appends one event to each listed stream in order. */
const fill = async (log: EventLog, streams: readonly string[], first = 0) => {
  const next = new Map<string, bigint>()
  for (const [n, stream] of streams.entries()) {
    const revision = next.get(stream) ?? 0n
    await log.append(stream, [happened(first + n)], revision === 0n ? 'none' : revision - 1n)
    next.set(stream, revision + 1n)
  }
}
const SOME = ['token-a', 'token-a', 'flag-x', 'token-a', 'flag-x', 'login-1', 'login-1', 'login-1']

await t.test('the migration keeps times that decrease in the log of servers', async (t) => {
  const from = memoryLog()
  for (const [stream, n] of [
    ['token-a', 9],
    ['token-b', 3],
    ['token-b', 7],
  ] as const) {
    const { revision } = (await collect(from.read(stream))).at(-1) ?? {}
    await from.append(stream, [happened(n)], revision ?? 'none')
  }
  const times = (await of(from)).map(({ time }) => time)
  t.ok(times[1]! < times[0]!, 'the time of the second event is earlier')
  for (const keepsTimes of [true, false]) {
    const onError = (_: string, error: unknown) => {
      throw error
    }
    const kek = new Uint8Array(32)
    const store = await openEmbedded(await newDirectory(t), { clock: systemClock, kek, onError, keepsTimes })
    const moving = migrate({ ...place(from), alone: false }, { ...store, pepper }, options)
    if (keepsTimes) t.match(await moving, { events: 3, copied: 3 })
    else t.match(await failure(moving), { exit: 3, message: /did not store event 1 of token-b unchanged/ })
    if (keepsTimes) t.same(await of(store.log), await of(from))
    await store.close()
  }
})

await t.test('the migration copies an embedded store byte for byte, with encryption keys and erasures', async (t) => {
  const store = await openEmbedded(await newDirectory(t), {
    clock: systemClock,
    kek: new Uint8Array(32),
    onError: (_, error) => {
      throw error
    },
  })
  const seal = sealer(store.keys)
  await fill(store.log, SOME)
  const sealed = await seal.seal('person-ann', 'ann@example.com')
  const gone = await seal.seal('person-bob "b"', 'bob@example.com')
  await store.log.append(
    'token-p',
    [
      { ...happened(20), data: JSON.stringify({ profile: sealed, text: 'ünï ☃ 😀 \u0000 "quoted"' }) },
      { ...happened(21), meta: JSON.stringify({ ip: gone, subject: 'person-bob "b"' }) },
      { ...happened(22), data: JSON.stringify({ subject: 'person-never' }) },
    ],
    'none',
  )
  await store.keys.destroy('person-bob "b"')
  const before = await of(store.log)

  const [log, keys] = [memoryLog(), memoryKeys()]
  const told = new Set<string>()
  const moved = await migrate(place(store.log, store.keys), place(log, keys), {
    ...options,
    progress: ({ name }) => told.add(name),
  })
  t.match(moved, { events: 11, copied: 11, streams: 4, subjects: 2, digest: /^[0-9a-f]{64}$/ })
  t.strictSame(await of(log), before)
  t.strictSame(await of(store.log), before, 'the source is as it was')
  t.strictSame(await sealer(keys).open(sealed), { text: 'ann@example.com' })
  t.equal(keys.all.get('person-bob "b"'), 'erased')
  t.notOk(keys.all.has('person-never'), 'a subject that never had a key gets none')
  t.same([...told], ['copying', 'comparing', 'comparing streams'])

  const again = await migrate(place(store.log, store.keys), place(log, keys), options)
  t.same(again, { ...moved, copied: 0 }, 'a move that is over is only compared again')
  await store.close()
})

await t.test('a lost encryption key is neither created nor erased in the target of the migration', async (t) => {
  const [from, to] = [memoryKeys(), memoryKeys()]
  const [source, target] = [memoryLog(), memoryLog()]
  const profile = await sealer(from).seal('person-ann', 'ann@example.com')
  await source.append('token-p', [{ ...happened(1), data: JSON.stringify({ profile, subject: 'person-ann' }) }], 'none')
  from.all.delete('person-ann')
  t.match(await migrate(place(source, from), place(target, to), options), { subjects: 0, lost: 1 })
  t.notOk(to.all.has('person-ann'))
  t.same(await sealer(to).open(profile), { lost: true })
})

await t.test('an interrupted migration resumes, and the target has the same events in the same order', async (t) => {
  const stream = fc.integer({ min: 0, max: 3 }).map((n) => `token-${n}`)
  await fc.assert(
    fc.asyncProperty(fc.array(stream, { maxLength: 40 }), fc.nat(40), fc.nat(40), async (streams, first, second) => {
      const from = memoryLog()
      await fill(from, streams)
      let left = Number.POSITIVE_INFINITY
      const to = memoryLog({
        pause: async (what) => {
          if (what.startsWith('append') && left-- <= 0) throw new Error('broken off')
        },
      })
      for (const appends of [first, second, Number.POSITIVE_INFINITY]) {
        left = appends
        await migrate(place(from), place(to), options).catch((error: Error) => {
          if (error.message !== 'broken off') throw error
        })
      }
      deepStrictEqual(content(to.all), content(from.all))
    }),
    { numRuns: 60 },
  )
  t.pass()
})

await t.test('the migration does not repeat an append whose answer was lost', async (t) => {
  const [from, to] = [memoryLog(), memoryLog()]
  await fill(from, SOME)
  let lost = 0
  const silent: EventLog = {
    ...to,
    append: async (stream, events, expected) => {
      const answer = await to.append(stream, events, expected)
      if (++lost === 3) throw new Error('no answer')
      return answer
    },
  }
  await t.rejects(migrate(place(from), place(silent), options), /no answer/)
  t.match(await migrate(place(from), place(silent), options), { events: 8 })
  t.strictSame(content(to.all), content(from.all))
})

await t.test('the migration refuses a target whose events are not the first events of the source', async (t) => {
  const histories: Readonly<Record<string, (log: EventLog, from: readonly Stored[]) => Promise<unknown>>> = {
    'another first event': (log) => fill(log, ['token-other']),
    'the same stream with other events': (log) => fill(log, SOME, 100),
    'the same events in another order': async (log, from) => {
      await log.append('flag-x', [from[2]!], 'none')
      await log.append('token-a', [from[0]!], 'none')
    },
    'one event with other data': (log, from) => log.append('token-a', [{ ...from[0]!, data: '{}' }], 'none'),
    'an event more': async (log, from) => {
      for (const event of from)
        await log.append(event.stream, [event], event.revision === 0n ? 'none' : event.revision - 1n)
      await log.append('token-z', [happened(99)], 'none')
    },
  }
  for (const [name, write] of Object.entries(histories)) {
    const [from, to] = [memoryLog(), memoryLog()]
    await fill(from, SOME)
    await write(to, from.all)
    const before = content(to.all)
    t.match(
      await failure(migrate(place(from), place(to), options)),
      { exit: 6, message: /^The target contains events of a different log/ },
      name,
    )
    t.strictSame(content(to.all), before)
  }
})

await t.test('a migration refuses a target with different secrets or keys, or with a concurrent writer', async (t) => {
  const [from, to] = [place(), place()]
  await fill(from.log, SOME)
  const other = { ...to, pepper: { kid: 'p1', key: new Uint8Array(32) } }
  t.match(await failure(migrate(from, other, options)), {
    exit: 6,
    message: /no token of the source would be valid in the target[^]*keys\.file/,
  })
  t.equal(await to.log.head(), 0n)

  await from.log.append('token-s', [{ ...happened(1), data: '{"subject":"person-ann"}' }], 'none')
  await from.keys.make('person-ann')
  await to.keys.make('person-ann')
  t.match(await failure(migrate(from, to, options)), { exit: 6, message: /encryption key for person-ann differs/ })

  const log = memoryLog()
  const busy: EventLog = {
    ...log,
    append: async (stream, events, expected) => {
      if (stream === 'flag-x' && expected === 'none') await fill(log, ['flag-x'], 50)
      return log.append(stream, events, expected)
    },
  }
  t.match(await failure(migrate(from, place(busy), options)), {
    exit: 6,
    message: /Another process writes to the target/,
  })
})

await t.test('the migration notices a target that returns other events than it received', async (t) => {
  const tell = (events: readonly Stored[]) =>
    events.map((event) => (event.stream === 'login-1' ? { ...event, meta: '{"actor":{}}' } : event))
  const lie = async function* (pages: AsyncIterable<readonly Stored[]>) {
    for await (const page of pages) yield tell(page)
  }
  const short = async function* (pages: AsyncIterable<readonly Stored[]>) {
    for await (const page of pages) yield page.filter(({ revision }) => revision < 2n)
  }
  const from = memoryLog()
  await fill(from, SOME)
  const lies: Readonly<Record<string, (log: EventLog) => Partial<EventLog>>> = {
    'the whole log': (log) => ({ readAll: (after, to) => lie(log.readAll(after, to)) }),
    'one stream': (log) => ({ read: (stream, from) => lie(log.read(stream, from)) }),
    'the end of a stream': (log) => ({ read: (stream, from) => short(log.read(stream, from)) }),
  }
  for (const [name, make] of Object.entries(lies)) {
    const to = memoryLog()
    const found = await failure(migrate(place(from), place({ ...to, ...make(to) }), options))
    t.match(found, { exit: 3, message: /^The target differs/ }, name)
  }
  const kept = memoryLog()
  const later = {
    ...kept,
    append: async (...args: Parameters<EventLog['append']>) => ({ ...(await kept.append(...args)), times: ['later'] }),
  }
  t.match(await failure(migrate(place(from), place(later), options)), {
    exit: 3,
    message: /did not store event 1 of token-a/,
  })
})

await t.test('a dry run of the migration counts missing events and writes nothing', async (t) => {
  const [from, to] = [memoryLog(), memoryLog()]
  await fill(from, SOME)
  t.same(
    await migrate(place(from), place(to), { ...options, dryRun: true }),
    { events: 80, copied: 80 },
    'memory positions count tens',
  )
  t.equal(to.all.length, 0)
  await t.rejects(migrate(place(from), place(to), { ...options, signal: AbortSignal.abort() }), { name: 'AbortError' })
  t.equal(to.all.length, 0)
})

const migrating = (...args: readonly string[]) => rollcall(['migrate', ...args])
const inFile = async (directory: string): Promise<number> => {
  if (!existsSync(join(directory, 'events.sqlite'))) return 0
  const database = await openDatabase(join(directory, 'events.sqlite'), 'read')
  try {
    return (database.prepare('select count(*) as n from events').get() as { n: number }).n
  } catch {
    return 0
  } finally {
    database.close()
  }
}

await t.test('rollcall migrate resumes after a kill, and can move a service to a directory', async (t) => {
  const service = await startService(t)
  const made = await service.request<{ clientToken: string }>('POST', '/auth/v1/method/token', { name: 'kept' })
  t.equal(
    (
      await service.request('POST', '/api/v1/namespaces/default/flags', {
        key: 'kept',
        name: 'Kept',
        type: 'BOOLEAN_FLAG_TYPE',
      })
    ).status,
    200,
  )
  await service.close()
  const from = join(service.directory, 'data')
  const { kek } = await openKeyFile(join(from, 'keys'))
  const store = await openEmbedded(from, { clock: systemClock, kek, onError: () => {} })
  await Promise.all(Array.from({ length: 500 }, (_, n) => store.log.append(`login-${n}`, [happened(n)], 'none')))
  const total = Number(await store.log.head())
  await store.close()

  const moved = await newDirectory(t)
  const to = join(moved, 'data')
  const dry = await migrating('--from', from, '--to', to, '--dry-run')
  t.match(dry, { exit: 0, err: `Would copy ${total} of ${total} events; nothing is written.\n` })
  t.notOk(existsSync(to), 'a dry run does not make the directory')

  let there = 0
  // Start again if the kill came too late.
  for (let tries = 0; tries < 5 && !(there >= 20 && there < total); tries++) {
    await rm(to, { recursive: true, force: true })
    const child = spawn(process.execPath, [MAIN, 'migrate', '--from', from, '--to', to, '--yes'], { stdio: 'ignore' })
    const ended = once(child, 'exit')
    await eventually(async () => child.exitCode !== null || (await inFile(to)) >= 20, 'twenty events are copied')
    child.kill('SIGKILL')
    await ended
    there = await inFile(to)
  }
  t.ok(there >= 20 && there < total, `killed after ${there} of ${total} events`)

  const rest = await migrating('--from', from, '--to', to, '--yes')
  t.equal(rest.exit, 0, rest.err)
  const copied = Number(/(\d+) events copied, (\d+) events in total/.exec(rest.err)?.[1])
  t.ok(copied > 0 && copied <= total - there, `the second run copied ${copied}`)
  t.match(rest.err, new RegExp(`${total} events in total\\.\nCompared: all events in order, and each of \\d+ streams`))
  t.equal(await readFile(join(to, 'keys'), 'utf8'), await readFile(join(from, 'keys'), 'utf8'))
  t.match(await migrating('--from', from, '--to', to, '--yes'), { exit: 0 }, 'a complete copy is complete again')

  const again = await startService(t, {}, { directory: moved })
  const bearer = { authorization: `Bearer ${made.json.clientToken}` }
  t.match(await again.request('GET', '/api/v1/namespaces/default/flags/kept', undefined, bearer), {
    status: 200,
    json: { name: 'Kept' },
  })
  await again.close()
  t.match(
    await migrating('--from', from, '--to', to, '--yes'),
    { exit: 6 },
    'a service that was started on the target has recorded that',
  )
})

await t.test('rollcall migrate reports errors before it writes anything', async (t) => {
  const directory = await newDirectory(t)
  t.match(await migrating('--from', join(directory, 'no'), '--to', join(directory, 'b'), '-y'), {
    exit: 4,
    err: /There is no .*events\.sqlite/,
  })
  t.notOk(existsSync(join(directory, 'events.sqlite')))
  t.notOk(existsSync(join(directory, 'keys')), 'a source without keys gets none')

  const service = await startService(t)
  const from = join(service.directory, 'data')
  t.match(await migrating('--from', from, '--to', join(directory, 'b'), '-y'), {
    exit: 1,
    err: /is in use by process/,
  })
  await service.close()
  const elsewhere = join(directory, 'elsewhere')
  await copyFile(join(from, 'keys'), elsewhere)
  await chmod(elsewhere, 0o600)
  t.match(await migrating('--from', from, '--from-keys', elsewhere, '--to', join(directory, 'b'), '-y'), { exit: 0 })
})

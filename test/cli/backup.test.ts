import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { openKeyFile } from '../../src/adapters/embedded/files/secret-file.ts'
import { openEmbedded } from '../../src/adapters/embedded/open.ts'
import { openDatabase } from '../../src/adapters/embedded/sqlite.ts'
import { systemClock } from '../../src/base/clock.ts'
import type { LedgerCheckpoint } from '../../src/contract/history/ledger.ts'
import { sealer } from '../../src/events/personal.ts'
import { newDirectory } from '../adapters/embedded/store.ts'
import { collect, happened } from '../contracts/log.ts'
import { draws } from '../draws.ts'
import { type Started, startService } from '../start.ts'
import { eventually } from '../wait.ts'
import { rollcall, rollcallProcess } from './service.ts'

const LEDGER = '/audit/v1/ledger'
/** Each event makes a checkpoint. */
const SETTINGS = { 'storage.type': 'embedded', 'history.ledger.seal_events': '1' }
const WRITERS = 4

type Status = { readonly state: string; readonly why?: string; readonly origin: string; readonly size: number }
type Statement = {
  readonly events: number
  readonly checkpoint: string
  readonly files: readonly { readonly name: string }[]
}

const createFlag = async ({ request }: Started, key: string): Promise<void> => {
  const body = { key, name: key, type: 'BOOLEAN_FLAG_TYPE' }
  const { status } = await request('POST', '/api/v1/namespaces/default/flags', body)
  if (status !== 200) throw new Error(`the flag ${key} was refused: ${status}`)
}
/** Makes a checkpoint. A service with many writes may refuse that at first. */
const seal = async ({ request }: Started): Promise<LedgerCheckpoint> => {
  for (;;) {
    const { status, json } = await request<LedgerCheckpoint>('POST', `${LEDGER}/checkpoint`, {})
    if (status === 200) return json
    if (status !== 503) throw new Error(`the checkpoint was refused: ${status}`)
  }
}
const statusOf = async ({ request }: Started) => (await request<Status>('GET', LEDGER)).json
const restored = (t: Test, directory: string) =>
  startService(t, { ...SETTINGS, 'storage.data_dir': directory, 'log.file': `${directory}.log` })

/** A stopped service with flags, a backup with keys, and paths for its restores. */
const backedUp = async (t: Test) => {
  const service = await startService(t, SETTINGS)
  await createFlag(service, 'before')
  await seal(service)
  const data = join(service.directory, 'data')
  const backup = join(service.directory, 'backup')
  const made = await rollcall(['backup', backup, '--data', data, '--with-keys'])
  if (made.exit !== 0) throw new Error(made.err)
  const statement = JSON.parse(await readFile(join(backup, 'backup.json'), 'utf8')) as Statement
  let serial = 0
  return {
    service,
    data,
    backup,
    statement,
    path: (name: string) => join(service.directory, name),
    restore: async (...more: readonly string[]) => {
      const into = join(service.directory, `restored-${serial++}`)
      return { into, ...(await rollcall(['restore', backup, '--into', into, ...more])) }
    },
  }
}

await t.test('a backup during writes and seals has every event and checkpoint from before', async (t) => {
  const service = await startService(t, SETTINGS)
  const data = join(service.directory, 'data')
  const acked: string[] = []
  const served = new Set<string>()
  const state = { isOver: false }
  const write = async (writer: number): Promise<void> => {
    for (let n = 0; !state.isOver; n++) {
      await createFlag(service, `f-${writer}-${n}`)
      acked.push(`f-${writer}-${n}`)
      const { status, text } = await service.request('GET', `${LEDGER}/checkpoint`)
      if (status === 200) served.add(text)
    }
  }
  const writing = Array.from({ length: WRITERS }, (_, writer) => write(writer))
  await eventually(() => acked.length > 30, 'thirty flags')
  const backup = join(service.directory, 'backup')
  const last = await seal(service)
  const before = { flags: [...acked], checkpoints: [...served].slice(-10) }
  const made = await rollcallProcess(['backup', backup, '--data', data, '--with-keys'])
  const during = acked.length - before.flags.length
  state.isOver = true
  await Promise.all(writing)
  const newest = await seal(service)
  await service.close()
  t.match(made, { exit: 0, err: /\d+ events up to #\d+ are in .*, checked\.\nWhoever has this backup/ })
  t.ok(during > 0, `${during} flags were created during the backup`)
  for (const name of await readdir(backup))
    t.equal((await stat(join(backup, name))).mode & 0o777, 0o600, `${name} has mode 600`)
  t.equal((await stat(backup)).mode & 0o777, 0o700)

  const checkpoint = join(service.directory, 'served')
  await writeFile(checkpoint, last.text.replaceAll('\n', '\r\n'))
  const into = join(service.directory, 'restored')
  const ran = await rollcall(['restore', backup, '--into', into, '--checkpoint', checkpoint])
  t.match(ran, { exit: 0, err: /goes on: \d+ events are sealed.*\n.*\n?[^]*revoke them again[^]*erase these people/ })
  const options: string[] = []
  for (const [n, text] of before.checkpoints.entries()) {
    await writeFile(join(service.directory, `served-${n}`), text)
    options.push('--checkpoint', join(service.directory, `served-${n}`))
  }
  const verified = await rollcall(['events', 'verify', '--data', into, '--no-progress', ...options])
  t.match(verified, { exit: 0, out: /^verified/m }, `the restored log extends ${options.length / 2} checkpoints`)

  const again = await restored(t, into)
  const keys = new Set<string>()
  for (const key of before.flags) {
    const { status } = await again.request('GET', `/api/v1/namespaces/default/flags/${key}`)
    if (status === 200) keys.add(key)
  }
  t.equal(keys.size, before.flags.length, 'each flag that was acknowledged before the backup is there')
  await createFlag(again, 'later')
  const next = await seal(again)
  t.match(await statusOf(again), { state: 'ok' })
  t.ok(next.size > last.size)
  const env = { ROLLCALL_ADDRESS: again.url, ROLLCALL_TOKEN: again.token }
  t.match(await rollcall(['checkpoint', '--compare', checkpoint], env), { exit: 0 })
  await again.close()

  await writeFile(checkpoint, newest.text)
  const lost = await rollcall([
    'restore',
    backup,
    '--into',
    join(service.directory, 'other'),
    '--checkpoint',
    checkpoint,
  ])
  t.match(lost, { exit: 3, err: /The backup has \d+ events, but .* covers \d+: \d+ are lost\./ })
  t.strictSame(await readdir(join(service.directory, 'other')), [], 'nothing is left in the target')
})

await t.test('the copied keys open each event of the copied log', async (t) => {
  const directory = await newDirectory(t)
  const data = join(directory, 'data')
  const { kek } = await openKeyFile(join(data, 'keys'))
  const onError = (_: string, error: unknown) => {
    throw error
  }
  const store = await openEmbedded(data, { clock: systemClock, kek, onError })
  const { seal } = sealer(store.keys)
  const state = { written: 0, isOver: false }
  const write = async (writer: number): Promise<void> => {
    for (let n = 0; !state.isOver; n++) {
      const profile = await seal(`person-${writer}-${n}`, `text ${writer} ${n}`)
      const event = { ...happened(n), type: 'LoginStarted', data: JSON.stringify({ profile }) }
      await store.log.append(`login-${writer}-${n}`, [event], 'none')
      state.written++
    }
  }
  const writing = Array.from({ length: WRITERS }, (_, writer) => write(writer))
  // More than a page of keys.
  await eventually(() => state.written > 1200, 'the first people')
  const before = state.written
  const made = await rollcallProcess(['backup', join(directory, 'backup'), '--data', data, '--with-keys'])
  t.equal(made.exit, 0, made.err)
  t.ok(state.written > before, 'people were added during the backup')
  state.isOver = true
  await Promise.all(writing)
  await store.close()

  const into = join(directory, 'restored')
  t.match(await rollcall(['restore', join(directory, 'backup'), '--into', into]), { exit: 0, err: /names no ledger/ })
  const copy = await openEmbedded(into, { clock: systemClock, kek, onError })
  const { open } = sealer(copy.keys)
  let opened = 0
  for (const { data, stream } of await collect(copy.log.readAll(0n))) {
    const { text } = (await open((JSON.parse(data) as { profile: string }).profile)) as { readonly text?: string }
    if (text !== `text ${stream.slice('login-'.length).replace('-', ' ')}`) t.fail(`${stream} is not readable`)
    opened++
  }
  t.ok(opened >= before, `${opened} events, ${before} were acknowledged before`)
  await copy.close()
})

await t.test('a restore continues the ledger, begins a new one, or leaves it suspended', async (t) => {
  const { service, statement, path, restore, backup, data } = await backedUp(t)
  const { origin } = await statusOf(service)
  await createFlag(service, 'after')
  const newest = await seal(service)
  await service.close()
  await writeFile(path('newest'), newest.text)
  await writeFile(path('same'), statement.checkpoint)
  const missing = newest.size - statement.events

  const refused = await restore('--checkpoint', path('newest'))
  t.match(refused, { exit: 3, err: new RegExp(`covers ${newest.size}: ${missing} are lost.\n.*--accept-rollback`) })

  const suspended = await restore()
  t.match(suspended, { exit: 0, err: /is suspended: .*rollcall ledger resume/ })
  const asCopy = await restored(t, suspended.into)
  await eventually(async () => (await statusOf(asCopy)).state !== 'building', 'the tree')
  t.match(await statusOf(asCopy), { state: 'suspended', origin })
  await asCopy.close()
  const resumed = await rollcall(['ledger', 'resume', '--data', suspended.into, '--checkpoint', path('same'), '--yes'])
  t.equal(resumed.exit, 0, resumed.err)

  const plain = path('plain')
  await mkdir(plain, { mode: 0o700 })
  for (const { name } of statement.files) await cp(join(backup, name), join(plain, name))
  const report = await rollcall(['ledger', 'status', '--data', plain, '-o', 'json'])
  t.match(JSON.parse(report.out), { state: 'suspended', why: /copy from a backup/ }, 'a copy without restore')

  const restarted = await restore('--accept-rollback', '--reason', 'the disk was lost')
  t.match(restarted, { exit: 0, out: /^\S+\+[0-9a-f]{8}\+\S+\n$/, err: /A new ledger begins/ })
  t.not(restarted.out.startsWith(`${origin}+`), true)
  t.notOk(existsSync(join(restarted.into, 'events.sqlite.scratch')))
  const fresh = await restored(t, restarted.into)
  const shown = await fresh.request<{ readonly events: readonly object[] }>(
    'GET',
    '/audit/v1/events?type=LedgerRestarted&format=json',
  )
  t.match(shown.json.events, [{ reason: 'the disk was lost', data: { previousOrigin: origin, lastCheckpoint: /\n/ } }])
  t.match(await seal(fresh), { size: statement.events + 2 })
  t.equal((await statusOf(fresh)).state, 'ok')
  await fresh.close()

  await rm(join(data, 'ledger.sqlite'))
  await rm(join(data, 'signing-key.pem.sealed'))
  const bare = path('bare')
  const without = await rollcall(['backup', bare, '--data', data])
  t.match(without, { exit: 0, err: /no checkpoint.*\nThe backup has no keys/ })
  t.strictSame((await readdir(bare)).toSorted(), ['backup.json', 'events.sqlite'])
  const keyless = await rollcall(['restore', bare, '--into', path('keyless'), '--checkpoint', path('newest')])
  t.match(keyless, { exit: 0, err: /goes on[^]*The backup has no keys\. Put subjects\.sqlite, keys/ })
  for (const name of ['subjects.sqlite', 'keys', 'signing-key.pem'])
    await cp(join(data, name), join(path('keyless'), name))
  const whole = await restored(t, path('keyless'))
  await eventually(async () => (await statusOf(whole)).state === 'ok', 'the ledger to continue')
})

await t.test('a restore finds each file that was changed, removed or exchanged', async (t) => {
  const { service, data, backup, statement, path, restore } = await backedUp(t)
  await createFlag(service, 'after')
  const other = path('other')
  t.equal((await rollcall(['backup', other, '--data', data, '--with-keys'])).exit, 0)
  await service.close()
  const draw = draws(t)
  const names = [...statement.files.map(({ name }) => name), 'backup.json']
  t.strictSame(names.slice(0, -1), ['ledger.sqlite', 'events.sqlite', 'subjects.sqlite', 'keys', 'signing-key.pem'])
  for (const name of names) {
    const file = join(backup, name)
    const whole = await readFile(file)
    const insist = async (what: string, exit = 3) => {
      const ran = await restore()
      if (ran.exit !== exit || (await readdir(ran.into).catch(() => [])).length > 0)
        t.fail(`${name} ${what}: exit ${ran.exit}, ${ran.err}`)
    }
    const step = Math.ceil(whole.length / (name === 'backup.json' ? 100 : 3))
    const offsets = Array.from({ length: Math.floor(whole.length / step) }, (_, n) => n * step + draw(0, step))
    for (const offset of offsets) {
      const bytes = Buffer.from(whole)
      bytes[offset]! ^= 1 << draw(0, 7)
      await writeFile(file, bytes)
      await insist(`with another byte ${offset}`)
    }
    await rm(file)
    await insist('removed')
    // The keys of one store are the same in all of its backups.
    const theirs = await readFile(join(other, name))
    await writeFile(file, theirs)
    if (!theirs.equals(whole)) await insist('exchanged')
    await writeFile(file, whole)
  }
  t.equal((await restore()).exit, 0, 'the whole backup is restored')

  const database = await openDatabase(join(other, 'events.sqlite'), 'durable')
  database.exec("drop trigger events_never_change; update events set meta = meta || ' ' where position = 2")
  database.close()
  t.match(await rollcall(['restore', other, '--into', path('x')]), { exit: 3, err: /events\.sqlite is not the file/ })
})

await t.test('the commands of the guide make a backup and restore it', async (t) => {
  const service = await startService(t, SETTINGS)
  const guide = await readFile(resolve(import.meta.dirname, '../../../docs/guides/operations.md'), 'utf8')
  const env = { ROLLCALL_ADDRESS: service.url, ROLLCALL_TOKEN: service.token }
  const retained = join(service.directory, 'retained.checkpoint')
  t.equal((await rollcall(['checkpoint', '--seal', '--save', retained], env)).exit, 0)
  const paths = new Set(['backup', 'data', 'restored', 'retained.checkpoint'])
  for (const block of ['backup-command', 'restore-command']) {
    const [verb = '', ...words] = new RegExp(`\`\`\`sh ${block}\nrollcall (.*)\n`).exec(guide)![1]!.split(' ')
    const args = words.map((word) => (paths.has(word) ? join(service.directory, word) : word))
    t.match(await rollcall([verb, ...args]), { exit: 0 }, block)
  }
  const report = await rollcall(['ledger', 'status', '--data', join(service.directory, 'restored'), '-o', 'json'])
  t.match(JSON.parse(report.out), { state: 'ok' })
})

await t.test('a backup of a log that was changed fails, and a target in use is refused', async (t) => {
  const { service, data, backup, path } = await backedUp(t)
  await service.close()
  const ran = (...args: readonly string[]) => rollcall(args)
  t.match(await ran('backup', backup, '--data', data), { exit: 2, err: /is not empty/ })
  await rename(join(backup, 'backup.json'), path('statement'))
  t.match(await ran('backup', backup, '--data', data), { exit: 2, err: /interrupted backup/ })
  t.match(await ran('restore', backup, '--into', path('r')), { exit: 3, err: /was interrupted/ })
  await rename(path('statement'), join(backup, 'backup.json'))
  t.match(await ran('backup', path('none'), '--data', path('no-data')), { exit: 4, err: /There is no / })
  t.match(await ran('restore', path('none'), '--into', path('r')), { exit: 4, err: /backup\.json cannot be read/ })
  t.match(await ran('restore', backup, '--into', data), { exit: 2, err: /is not empty/ })
  t.match(await ran('restore', backup, '--into', join(backup, 'keys')), { exit: 2, err: /cannot be used/ })
  t.match(await ran('restore', backup, '--into', path('r'), '--accept-rollback'), { exit: 2, err: /need each other/ })
  t.match(await ran('restore', backup, '--into', path('r'), '--reason', 'x'), { exit: 2, err: /need each other/ })
  t.match(await ran('restore', backup, '--into', path('r'), '--checkpoint', path('none')), { exit: 4 })
  t.match(await ran('restore', backup), { exit: 2, err: /--into/ })

  await writeFile(
    path('cluster.yml'),
    JSON.stringify({
      storage: { type: 'cluster' },
      eventstore: { url: 'esdb://a' },
      mongodb: { url: 'mongodb://a' },
      redis: { url: 'redis://a' },
    }),
  )
  const servers = await ran('backup', path('s'), '--config', path('cluster.yml'))
  t.match(servers, { exit: 2, err: /EventStoreDB first, then MongoDB/ })
  await mkdir(join(path('volume'), 'lost+found'), { recursive: true })
  t.match(await ran('restore', backup, '--into', path('volume')), { exit: 0 }, 'the root of a volume')
  t.match(await ran('restore', backup, '--into', path('volume')), { exit: 2, err: /is not empty/ })

  const signingKey = join(data, 'signing-key.pem')
  await rename(signingKey, path('kept'))
  const unsigned = await ran('backup', path('unsigned'), '--data', data, '--with-keys')
  t.match(unsigned, { exit: 0, err: /no signing key that its log names/ })
  await rename(path('kept'), signingKey)
  await rename(join(data, 'keys'), path('kept'))
  t.match(await ran('backup', path('k'), '--data', data, '--with-keys'), { exit: 4, err: /There is no .*keys/ })
  await rename(path('kept'), join(data, 'keys'))

  const database = await openDatabase(join(data, 'events.sqlite'), 'durable')
  database.exec("drop trigger events_never_change; update events set meta = meta || ' ' where position = 2")
  database.close()
  const bad = path('bad')
  t.match(await ran('backup', bad, '--data', data), { exit: 3, err: /not sound: .* not the sealed ones/ })
  t.notOk(existsSync(join(bad, 'backup.json')))
  t.match(await ran('restore', bad, '--into', await newDirectory(t)), { exit: 3, err: /was interrupted/ })
})

import { access, copyFile, cp, mkdir, rename, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { watchFiles } from '../../../src/adapters/embedded/files/watched-files.ts'
import { openEmbedded } from '../../../src/adapters/embedded/open.ts'
import { openDatabase } from '../../../src/adapters/embedded/sqlite.ts'
import { isRefusal } from '../../../src/base/errors.ts'
import { happened } from '../../contracts/log.ts'
import { type VirtualClock, virtualClock } from '../../virtual-clock.ts'
import { eventually } from '../../wait.ts'
import { newDirectory } from './store.ts'

const LOOK_MS = 5_000
const kek = new Uint8Array(32)

/** Opens a store in a new folder `data`, writes one event, and collects the reported losses. */
const world = async (t: Test) => {
  const parent = await newDirectory(t)
  const directory = join(parent, 'data')
  const clock = virtualClock()
  const lost: string[] = []
  const onError = (_: string, error: unknown) => t.fail(String(error))
  const open = (at = directory) =>
    openEmbedded(at, { clock, kek, onError, onLost: ({ message }) => lost.push(message) })
  const store = await open()
  await store.log.append('token-before', [happened(1)], 'none')
  return { parent, directory, clock, lost, open, store }
}

const isRefused = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => false,
    (error: unknown) => isRefusal(error, 'backend_unavailable'),
  )

async function* late() {
  yield Buffer.from('late')
}

type Loss = (directory: string, parent: string) => Promise<unknown>

const file =
  (name: string, change: (path: string, parent: string) => Promise<unknown>): Loss =>
  (directory, parent) =>
    change(join(directory, name), parent)
const removed = (path: string) => rm(path)
const replaced = async (path: string, parent: string) => {
  await copyFile(path, join(parent, 'copy'))
  await rename(join(parent, 'copy'), path)
}

/** Losses of files that a write needs. The next write finds them. */
const losses: Readonly<Record<string, Loss>> = {
  'the folder is renamed': (directory, parent) => rename(directory, join(parent, 'old')),
  'the folder is removed': (directory) => rm(directory, { recursive: true }),
  'the folder is removed and made again': async (directory) => {
    await rm(directory, { recursive: true })
    await mkdir(directory)
  },
  'a copy takes the place of the folder': async (directory, parent) => {
    await cp(directory, join(parent, 'copy'), { recursive: true })
    await rename(directory, join(parent, 'old'))
    await rename(join(parent, 'copy'), directory)
  },
  'a link to another folder takes its place': async (directory, parent) => {
    await cp(directory, join(parent, 'copy'), { recursive: true })
    await rename(directory, join(parent, 'old'))
    await symlink(join(parent, 'copy'), directory)
  },
  'a file takes the place of the folder': async (directory, parent) => {
    await rename(directory, join(parent, 'old'))
    await writeFile(directory, '')
  },
  'the log is removed': file('events.sqlite', removed),
  'the log is replaced by a copy': file('events.sqlite', replaced),
  'the write-ahead log is removed': file('events.sqlite-wal', removed),
  'the shared memory is removed': file('events.sqlite-shm', removed),
  'the subject keys are removed': file('subjects.sqlite', removed),
  'the lock is removed': file('lock', removed),
}

for (const [what, lose] of Object.entries(losses))
  void t.test(`no write is acknowledged after ${what}`, async (t) => {
    const { parent, directory, lost, store } = await world(t)
    await lose(directory, parent)
    for (const n of [2, 3]) t.ok(await isRefused(store.log.append(`token-after-${n}`, [happened(n)], 'none')))
    t.ok(await isRefused(store.keys.make('person')))
    t.equal(lost.length, 1, lost.join())
    t.match(lost[0], /(events\.sqlite|subjects\.sqlite|lock)(-\w+)? was moved, removed or replaced while it was open$/)
    await store.snapshots.write(late())
    await store.close()
    t.equal(lost.length, 1)
    await t.rejects(access(join(directory, 'memory.snapshot')), 'nothing more is written at the path')
  })

/** Losses that no write has to find. */
const quiet: Readonly<Record<string, Loss>> = {
  'the folder is renamed': losses['the folder is renamed']!,
  'the read models are removed': file('views.sqlite', removed),
  'the read models are replaced by a copy': file('views.sqlite', replaced),
  'the write-ahead log of the read models is removed': file('views.sqlite-wal', removed),
  'the ledger is removed': file('ledger.sqlite', removed),
  'the lock is replaced': file('lock', replaced),
}

const looked = async (clock: VirtualClock, lost: readonly string[]) => {
  await clock.advance(LOOK_MS - 1)
  const before = lost.length
  await clock.advance(1)
  await eventually(() => lost.length > 0, 'the check of the files')
  return before
}

for (const [what, lose] of Object.entries(quiet))
  void t.test(`the check of every 5 s reports that ${what}, and refuses writes`, async (t) => {
    const { parent, directory, clock, lost, store } = await world(t)
    await writeFile(join(directory, 'ledger.sqlite'), '')
    store.watch(join(directory, 'ledger.sqlite'))
    await lose(directory, parent)
    t.equal(await looked(clock, lost), 0)
    t.ok(await isRefused(store.log.append('token-after', [happened(2)], 'none')))
    await clock.advance(3 * LOOK_MS)
    t.equal(lost.length, 1, lost.join())
    await store.close()
  })

void t.test('the end of a store leaves the files of a second store at its path alone', async (t) => {
  const { parent, directory, lost, open, store } = await world(t)
  await rename(directory, join(parent, 'old'))
  const second = await open()
  await second.log.append('token-second', [happened(1)], 'none')
  t.ok(await isRefused(store.log.append('token-first', [happened(2)], 'none')))
  await store.close()
  t.equal(lost.length, 1)
  await access(join(directory, 'events.sqlite-wal'))
  await second.log.append('token-second', [happened(2)], 0n)
  await second.close()
  const again = await open()
  t.equal(await again.log.head(), 2n, 'the second store has its events')
  await again.close()
  const old = await open(join(parent, 'old'))
  t.equal(await old.log.head(), 1n, 'and the renamed folder has those of the first')
  await old.close()
})

void t.test('files that stay at their paths are reported by no check', async (t) => {
  const { directory, clock, lost, store } = await world(t)
  for (let n = 2; n < 5; n++) {
    await store.log.append(`token-${n}`, [happened(n)], 'none')
    await store.keys.make(`person-${n}`)
    await clock.advance(LOOK_MS)
  }
  await store.keys.destroy('person-2')
  await clock.advance(LOOK_MS)
  await writeFile(join(directory, 'notes.txt'), 'a file of the operator')
  await rm(join(directory, 'lock.pid'))
  await clock.advance(LOOK_MS)
  t.same(lost, [])
  await store.close()
  await clock.advance(LOOK_MS)
  t.same(lost, [], 'nor after the end')
})

void t.test('a write-ahead log above 128 MiB is reported once until it is small again', async (t) => {
  const directory = await newDirectory(t)
  const [wal, other] = [join(directory, 'views.sqlite-wal'), join(directory, 'views.sqlite')]
  const clock = virtualClock()
  const told: (readonly [number, boolean])[] = []
  const watch = watchFiles(
    clock,
    ({ message }) => t.fail(message),
    (file, bytes, isLarge) => {
      t.equal(file, wal)
      told.push([bytes, isLarge])
    },
  )
  for (const path of [wal, other]) await writeFile(path, '')
  watch.add(wal, other)
  const LARGE = 128 * 1_048_576
  const size = async (bytes: number) => {
    for (const path of [wal, other]) await truncate(path, bytes)
    await clock.advance(LOOK_MS)
  }
  /** A check that is under way may skip the next interval. */
  const reports = async (count: number) => {
    await clock.advance(LOOK_MS)
    return told.length === count
  }
  await size(LARGE)
  t.same(told, [])
  await size(LARGE + 1)
  await eventually(() => reports(1), 'the report')
  await size(3 * LARGE)
  await size(10)
  await eventually(() => reports(2), 'the end of the spell')
  t.same(told, [
    [LARGE + 1, true],
    [10, false],
  ])
  t.same(await watch.logs(), [{ path: wal, database: 'views.sqlite', bytes: 10 }])
  watch.close()
  t.same(await watch.logs(), [], 'a closed store has none')
})

void t.test('the size of each write-ahead log is that of its file, and a missing log has none', async (t) => {
  const { directory, store } = await world(t)
  for (let n = 2; n < 5; n++) await store.log.append(`token-${n}`, [happened(n)], 'none')
  const sizes = async () =>
    Object.fromEntries((await store.writeAheadLogs()).map(({ database, bytes }) => [database, bytes]))
  const sizeOf = async (name: string) => (await stat(join(directory, `${name}-wal`))).size
  t.same(await sizes(), {
    'events.sqlite': await sizeOf('events.sqlite'),
    'views.sqlite': await sizeOf('views.sqlite'),
  })
  t.ok((await sizes())['events.sqlite']! > 3 * 4096)
  store.watch(join(directory, 'ledger.sqlite'))
  await writeFile(join(directory, 'ledger.sqlite'), '')
  store.watch(join(directory, 'ledger.sqlite'))
  t.notOk('ledger.sqlite' in (await sizes()))
  await writeFile(join(directory, 'ledger.sqlite-wal'), 'four')
  t.equal((await sizes())['ledger.sqlite'], 4, 'also of a file that a different part opened')
  await store.close()
})

void t.test('a write-ahead log shrinks to 64 MiB after it was written to its database', async (t) => {
  const directory = await newDirectory(t)
  for (const mode of ['durable', 'rebuildable'] as const) {
    const database = await openDatabase(join(directory, `${mode}.sqlite`), mode)
    t.match(database.prepare('pragma journal_size_limit').get(), { journal_size_limit: 64 * 1_048_576 })
    database.close()
  }
})

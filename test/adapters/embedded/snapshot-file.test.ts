import { spawnSync } from 'node:child_process'
import { mkdir, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { snapshotFile } from '../../../src/adapters/embedded/open.ts'
import { snapshotsContract } from '../../contracts/snapshots.ts'
import { newDirectory } from './store.ts'

void t.test('the file with the memory snapshot passes the shared tests of every snapshot store', async (t) => {
  const directory = await newDirectory(t)
  snapshotsContract(t, async () => snapshotFile(join(directory, 'memory.snapshot')))
})

void t.test('only the owner can access the snapshot file, and no temporary file is left', async (t) => {
  const directory = await newDirectory(t)
  const path = join(directory, 'memory.snapshot')
  const umask = process.umask(0)
  t.teardown(() => process.umask(umask))
  const write = async function* () {
    yield Buffer.from('x')
  }
  await snapshotFile(path).write(write())
  t.equal((await stat(path)).mode & 0o777, 0o600)
  t.same(await readdir(directory), ['memory.snapshot'])
})

void t.test('a snapshot file that cannot be read is an error; a missing one is not', async (t) => {
  const path = join(await newDirectory(t), 'memory.snapshot')
  const snapshots = snapshotFile(path)
  await mkdir(path)
  await t.rejects(snapshots.read(), /is a directory, not a file/)
})

void t.test('a named pipe in place of the snapshot file is renamed at the start and never blocks later', async (t) => {
  const path = join(await newDirectory(t), 'memory.snapshot')
  const told: string[] = []
  const piped = (place: string) => spawnSync('mkfifo', [place])
  piped(path)
  piped(`${path}.new`)
  const snapshots = snapshotFile(path, (file, { message }) => told.push(`${file}: ${message}`))
  t.same(told, [
    `${path}.damaged: ${path} is a named pipe, not a file`,
    `${path}.new.damaged: ${path}.new is a named pipe, not a file`,
  ])
  t.equal(await snapshots.read(), undefined)
  piped(path)
  await t.rejects(snapshots.read(), /is a named pipe, not a file/)
  piped(`${path}.new`)
  await snapshots.write(
    (async function* () {
      yield Buffer.from('x')
    })(),
  )
  t.same(await snapshots.read(), Buffer.from('x'))
})

import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { snapshotFile } from '../../../src/adapters/embedded/snapshot-file.ts'
import { snapshotsContract } from '../../contracts/snapshots.ts'
import { newDirectory } from './store.ts'

void t.test('Snapshots in a file', async (t) => {
  const directory = await newDirectory(t)
  snapshotsContract(t, async () => snapshotFile(join(directory, 'memory.snapshot')))
})

void t.test('the file is its owner’s alone, and nothing is left beside it', async (t) => {
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

void t.test('a file that cannot be read is an error, not the absence of one', async (t) => {
  await t.rejects(snapshotFile(await newDirectory(t)).read(), /EISDIR/)
})

import { chmod, mkdir, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { copyFile } from '../../src/adapters/embedded/backup/copy-database.ts'
import { newDirectory } from '../adapters/embedded/store.ts'
import { startService } from '../start.ts'
import { rollcall } from './service.ts'

const MIB = 1_048_576

await t.test('a copy of a file that is larger than expected ends soon', async (t) => {
  const directory = await newDirectory(t)
  const [from, to] = [join(directory, 'from'), join(directory, 'to')]
  await writeFile(from, Buffer.alloc(8 * MIB))
  t.equal((await copyFile(from, to, { most: 10 })).bytes, MIB)
  t.equal((await stat(to)).size, MIB)
  t.equal((await copyFile(from, `${to}-whole`, { most: 8 * MIB })).bytes, 8 * MIB)
})

await t.test('a restore bounds what it reads, and makes its target private', async (t) => {
  const service = await startService(t, { 'storage.type': 'embedded' })
  const [data, backup] = [join(service.directory, 'data'), join(service.directory, 'backup')]
  await service.close()
  t.equal((await rollcall(['backup', backup, '--data', data, '--with-keys'])).exit, 0)
  const into = join(service.directory, 'into')
  await mkdir(into)
  await chmod(into, 0o777)
  t.equal((await rollcall(['restore', backup, '--into', into])).exit, 0)
  t.equal((await stat(into)).mode & 0o777, 0o700)

  const other = join(service.directory, 'other')
  const { size } = await stat(join(backup, 'keys'))
  await truncate(join(backup, 'keys'), 1024 * MIB)
  t.match(await rollcall(['restore', backup, '--into', other]), { exit: 3, err: /keys is not the file.*size differs/ })
  await truncate(join(backup, 'keys'), size)
  await truncate(join(backup, 'backup.json'), 600 * MIB)
  t.match(await rollcall(['restore', backup, '--into', other]), {
    exit: 3,
    err: /backup\.json has 629145600 bytes, but at most 1048576 are possible: it is not the file of a backup/,
  })
})

import { chown, mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { startService } from '../start.ts'
import { rollcall } from './service.ts'

/** Owner and group of the service; the commands run as root. */
const [UID, GID] = [12_345, 12_346]
const skip = process.geteuid?.() === 0 ? false : 'only root can make files for other users'

const giveAway = async (directory: string): Promise<void> => {
  for (const name of await readdir(directory)) await chown(join(directory, name), UID, GID)
  await chown(directory, UID, GID)
}
const modesOf = async (directory: string) =>
  Promise.all(
    (await readdir(directory)).toSorted().map(async (name) => {
      const { uid, gid, mode } = await stat(join(directory, name))
      return { name, uid, gid, mode: mode & 0o777 }
    }),
  )
const owned = (files: readonly { readonly name: string }[]) =>
  files.map(({ name }) => ({ name, uid: UID, gid: GID, mode: 0o600 }))

await t.test('files that commands of root make have the owner of the data directory', { skip }, async (t) => {
  const service = await startService(t, { 'storage.type': 'embedded' })
  await service.close()
  const data = join(service.directory, 'data')
  const backup = join(service.directory, 'backup')
  await giveAway(data)
  const commands = [
    ['ledger', 'rotate-key', '--yes'],
    ['ledger', 'rebuild', '--yes'],
    ['projections', 'rebuild', '--all', '--yes', '--no-progress'],
    ['ledger', 'restart', '--reason', 'a drill', '--yes'],
  ]
  for (const command of commands) {
    for (const name of ['lock', 'lock.pid', 'signing-key.pem.sealed', 'views.sqlite'])
      await rm(join(data, name), { force: true })
    t.match(await rollcall([...command, '--data', data]), { exit: 0 }, command.join(' '))
    const files = await modesOf(data)
    t.strictSame(files, owned(files), command.join(' '))
  }
  t.match(await rollcall(['backup', backup, '--data', data, '--with-keys']), { exit: 0 })
  for (const { name, uid } of await modesOf(backup)) t.equal(uid, 0, `${name} of the backup`)
  for (const more of [[], ['--accept-rollback', '--reason', 'a drill']]) {
    const into = join(service.directory, `restored${more.length}`)
    await mkdir(into)
    await chown(into, UID, GID)
    t.match(
      await rollcall(['restore', backup, '--into', into, '--no-progress', ...more]),
      { exit: 0 },
      `restore ${more.join(' ')}`,
    )
    const files = await modesOf(into)
    t.ok(files.length > 3)
    t.strictSame(files, owned(files), `restore ${more.join(' ')}`)
  }
})

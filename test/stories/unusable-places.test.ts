import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { scratch, serve } from './own-process.ts'

/** Expects a start on an unusable data directory to fail. */
const refused = async (t: Test, place: string, why: RegExp) => {
  const service = await serve(t, place)
  t.notOk(service.listens)
  t.equal(await service.ended, 2, service.err())
  const [line, ...more] = service.err().trimEnd().split('\n')
  t.strictSame(more, [], 'it is one sentence')
  t.ok(line!.startsWith(`error: data directory ${place} cannot be used: `), line!)
  t.match(line, why)
}

await t.test('a path where no directory can be created is refused', async (t) => {
  await refused(t, '/proc/foo', /ENOENT/)
  await refused(t, '/proc/foo/bar', /ENOENT/)
})

await t.test('a file in place of the directory, or a path below a file, is refused', async (t) => {
  const file = join(await scratch(t), 'file')
  await writeFile(file, 'x')
  await refused(t, file, /\/file is not a directory$/)
  await refused(t, join(file, 'below'), /\/file is not a directory$/)
})

await t.test('a broken link, a path below one, and a link to itself are refused', async (t) => {
  const place = await scratch(t)
  await symlink(join(place, 'nothing'), join(place, 'dangling'))
  await symlink(join(place, 'loop'), join(place, 'loop'))
  await refused(t, join(place, 'dangling'), /\/dangling is a broken symbolic link$/)
  await refused(t, join(place, 'dangling', 'below'), /\/dangling is a broken symbolic link$/)
  await refused(t, join(place, 'loop'), /ELOOP/)
})

await t.test('a directory without write permission is refused', async (t) => {
  const own = join(await scratch(t), 'closed')
  await mkdir(own)
  await chmod(own, 0o555)
  // Root may write to any directory of a disk.
  await refused(t, process.getuid?.() === 0 ? '/sys' : own, /EACCES|EPERM|EROFS/)
})

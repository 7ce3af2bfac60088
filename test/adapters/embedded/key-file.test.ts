import { chmod, chown, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { openKeyFile } from '../../../src/adapters/embedded/files/secret-file.ts'
import { newDirectory } from './store.ts'

const newPath = async (t: Test) => join(await newDirectory(t), 'data', 'keys')

void t.test('a missing key file is created with access for its owner only, and read back', async (t) => {
  const path = await newPath(t)
  const made = await openKeyFile(path)
  t.same([made.pepper.key.length, made.kek.length], [32, 32])
  t.notSame(made.pepper.key, made.kek)
  t.match(made.pepper.kid, /^[0-9a-f]{8}$/)
  t.equal((await stat(path)).mode & 0o777, 0o600)
  t.same(await openKeyFile(path), made)
  t.same(await readdir(dirname(path)), ['keys'], 'no temporary file is left')
})

void t.test('a missing key file can be created from given keys, and an existing one is not changed', async (t) => {
  const given = await openKeyFile(await newPath(t))
  const path = await newPath(t)
  t.same(await openKeyFile(path, given), given)
  t.same(await openKeyFile(path), given)
  t.equal((await stat(path)).mode & 0o777, 0o600)
  t.same(await openKeyFile(path, await openKeyFile(await newPath(t))), given)
})

void t.test('several processes that create the key file at the same time all read the same file', async (t) => {
  const path = await newPath(t)
  const files = await Promise.all(Array.from({ length: 12 }, () => openKeyFile(path)))
  for (const file of files) t.same(file, files[0])
})

void t.test('a key file that other users can read is refused', async (t) => {
  const path = await newPath(t)
  await openKeyFile(path)
  for (const mode of [0o640, 0o604, 0o620, 0o444, 0o460, 0o441]) {
    await chmod(path, mode)
    await t.rejects(openKeyFile(path), {
      message: `key file ${path} is readable by other users (mode ${mode.toString(8)})`,
    })
  }
})

/** A Secret as Kubernetes mounts it for a pod with an `fsGroup`: two links, group-readable and read-only. */
const mounted = async (t: Test, mode = 0o440) => {
  const directory = await newDirectory(t)
  const made = await openKeyFile(join(directory, '..2026_01_01_00_00_00.1', 'keys'))
  await chmod(join(directory, '..2026_01_01_00_00_00.1', 'keys'), mode)
  await symlink('..2026_01_01_00_00_00.1', join(directory, '..data'))
  await symlink(join('..data', 'keys'), join(directory, 'keys'))
  return { path: join(directory, 'keys'), made }
}

void t.test('a key file from a mounted Secret that only its own group can read is accepted', async (t) => {
  const { path, made } = await mounted(t)
  t.same(await openKeyFile(path), made)
})

void t.test('a mounted key file that other users or groups can read is refused', async (t) => {
  const open = await mounted(t, 0o444)
  await t.rejects(openKeyFile(open.path), { message: /is readable by other users \(mode 444\)/ })
  if (process.getuid?.() !== 0) return
  const { path } = await mounted(t)
  const strangers = 54_321
  await chown(path, 0, strangers)
  await t.rejects(openKeyFile(path), { message: /is readable by other users \(mode 440\)/ })
})

void t.test('a key file that cannot be created is reported with the cause', async (t) => {
  const path = join(await newDirectory(t), 'file', 'keys')
  await writeFile(dirname(path), '')
  await t.rejects(openKeyFile(path), { message: new RegExp(`^key file ${path} `) })
})

void t.test('an incomplete key file is refused without a change, and the missing part is named', async (t) => {
  const path = await newPath(t)
  await openKeyFile(path)
  const { pepper, kek } = JSON.parse(await readFile(path, 'utf8')) as { pepper: object; kek: string }
  const cases: readonly [text: string, message: RegExp][] = [
    ['', /is not JSON/],
    ['null', /has no pepper/],
    ['{"pepper":{}}', /has no pepper/],
    [JSON.stringify({ pepper: { a: kek, b: kek }, kek }), /more than one pepper/],
    [JSON.stringify({ pepper: { a: kek.slice(1) }, kek }), /no pepper of 32 bytes/],
    [JSON.stringify({ pepper }), /no kek of 32 bytes/],
    [JSON.stringify({ pepper, kek: `${kek.slice(0, -1)}=` }), /no kek of 32 bytes/],
  ]
  for (const [text, message] of cases) {
    await writeFile(path, text)
    await t.rejects(openKeyFile(path), { message }, text)
    t.equal(await readFile(path, 'utf8'), text)
  }
})

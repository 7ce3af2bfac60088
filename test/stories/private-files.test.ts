import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { onServers } from '../cluster/own.ts'
import { startService } from '../start.ts'

/** Permissions of other users on the files of a directory, by name; must be empty. */
const open = async (directory: string) => {
  const found: string[] = []
  for (const name of await readdir(directory)) {
    // The service replaces files, so a file may be gone by now.
    const { mode } = await stat(join(directory, name)).catch((error: NodeJS.ErrnoException) =>
      error.code === 'ENOENT' ? { mode: 0 } : Promise.reject(error),
    )
    if ((mode & 0o077) !== 0) found.push(`${name} ${(mode & 0o777).toString(8)}`)
  }
  return found
}
const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8)

const underUmask = async (t: Test, umask: number) => {
  const before = process.umask(umask)
  t.teardown(() => process.umask(before))
  const directory = await mkdtemp(join(tmpdir(), 'rollcall-test-'))
  t.teardown(() => rm(directory, { recursive: true }))
  return directory
}

await t.test('in a new directory only the owner can read the files', { skip: onServers }, async (t) => {
  const directory = await underUmask(t, 0)
  const service = await startService(t, { 'log.file': join(directory, 'logs/deep/log') }, { directory })
  await service.request('POST', '/api/v1/flags', { key: 'f', name: 'f' })
  t.same(await Promise.all(['data', 'logs', 'logs/deep'].map((name) => modeOf(join(directory, name)))), [
    '700',
    '700',
    '700',
  ])
  t.ok((await readdir(join(directory, 'data'))).length >= 8)
  t.same(await open(join(directory, 'data')), [])
  t.same(await open(join(directory, 'logs/deep')), [])
})

await t.test(
  'in a directory with files that others can read, only the owner can read them afterwards',
  { skip: onServers },
  async (t) => {
    const directory = await underUmask(t, 0)
    const data = join(directory, 'data')
    await mkdir(data, { mode: 0o755 })
    const service = await startService(t, { 'log.file': join(directory, 'data/log') }, { directory })
    await service.request('POST', '/api/v1/flags', { key: 'f', name: 'f' })
    t.same(await open(data), [])
    await service.close()
    for (const name of await readdir(data))
      if (!['keys', 'signing-key.pem'].includes(name)) await chmod(join(data, name), 0o644)
    await startService(t, { 'log.file': join(directory, 'data/log') }, { directory })
    t.same(await open(data), [])
    t.equal(await modeOf(data), '755', 'the mode of an existing directory stays')
  },
)

await t.test('the service can use its own files under any umask', { skip: onServers }, async (t) => {
  const directory = await underUmask(t, 0o277)
  const service = await startService(
    t,
    { 'storage.data_dir': directory, 'log.file': join(directory, 'log') },
    { directory },
  )
  t.equal((await service.request('POST', '/api/v1/flags', { key: 'f', name: 'f' })).status, 200)
  await service.close()
  await (
    await startService(t, { 'storage.data_dir': directory, 'log.file': join(directory, 'log') }, { directory })
  ).close()
})

await t.test(
  'the access mode of a log that is not a file stays unchanged',
  { skip: onServers || (process.platform === 'win32' && 'needs modes of files') },
  async (t) => {
    const before = await modeOf('/dev/null')
    await startService(t, { 'log.file': '/dev/null' })
    t.equal(await modeOf('/dev/null'), before)
  },
)

await t.test(
  'no part of the process creates files that others can read',
  { skip: onServers || (process.platform !== 'linux' && 'needs Linux') },
  async (t) => {
    const directory = await underUmask(t, 0)
    const main = resolve(import.meta.dirname, '../../src/main.js')
    const args = [main, 'serve', '--data', join(directory, 'data'), '--port', '0', '--host', '127.0.0.1']
    const child = spawn(process.execPath, args, { env: { PATH: process.env['PATH'] } })
    const ended = once(child, 'close')
    await once(child.stdout, 'data')
    t.match(await readFile(`/proc/${child.pid}/status`, 'utf8'), /^Umask:\s0077$/m)
    child.kill('SIGKILL')
    await ended
  },
)

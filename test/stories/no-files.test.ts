import { spawnSync } from 'node:child_process'
import { cp, lstat, mkdir, readFile, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startService } from '../start.ts'
import { scratch, serve } from './own-process.ts'

/** A non-file replaces a file of the data directory; opening it could block forever. */
const PIPE = 'a named pipe'
const makers: Readonly<Record<string, (path: string) => Promise<unknown>>> = {
  [PIPE]: async (path) => spawnSync('mkfifo', [path]),
  'a directory': (path) => mkdir(path),
  'a device': (path) => symlink('/dev/zero', path),
  'a broken symbolic link': (path) => symlink(path, path),
}

/** Copies the data of a stopped service. */
const ran = async (t: Test) => {
  const first = await startService(t, { 'storage.type': 'embedded' })
  await first.request('POST', '/api/v1/namespaces/default/flags', { key: 'f', name: 'one' })
  await first.close()
  return async () => {
    const copy = join(await scratch(t), 'data')
    await cp(join(first.directory, 'data'), copy, { recursive: true })
    return copy
  }
}
const put = async (path: string, make: (path: string) => Promise<unknown>) => {
  await rm(path, { force: true })
  await make(path)
}

/** Starts on data in which a file is replaced. */
const startedWith = async (t: Test, data: string, name: string, what: string) => {
  await put(join(data, name), makers[what]!)
  return { data, service: await serve(t, data) }
}

await t.test('a directory or link in place of a file that can be rebuilt is renamed', async (t) => {
  const copied = await ran(t)
  for (const [name, kinds] of [
    ['memory.snapshot', [PIPE, 'a broken symbolic link']],
    ['memory.snapshot.new', [PIPE]],
    ['views.sqlite', [PIPE, 'a directory']],
  ] as const)
    for (const what of kinds)
      await t.test(`${what} in place of ${name} is renamed`, async (t) => {
        const { data, service } = await startedWith(t, await copied(), name, what)
        t.ok(service.listens, service.err())
        t.match((await service.ask('GET', '/api/v1/namespaces/default/flags/f')).text, /"name":"one"/)
        service.kill('SIGTERM')
        t.equal(await service.ended, 0)
        const told = service
          .lines()
          .filter(({ level, msg }) => level === 'WARN' && /set aside|renamed/.test(String(msg)))
        t.match(told, [{ file: join(data, `${name}.damaged`), why: new RegExp(`${name} is ${what}, not a file`) }])
        t.equal(told.length, 1)
        t.notOk((await lstat(join(data, `${name}.damaged`))).isFile())
        if (name === 'memory.snapshot') t.ok((await readFile(join(data, name))).length > 0, 'it is written again')
      })
})

await t.test('a directory or link in place of the event log, the keys or the lock is refused', async (t) => {
  const copied = await ran(t)
  for (const [name, kinds] of [
    ['events.sqlite', Object.keys(makers)],
    ['events.sqlite-wal', [PIPE]],
    ['subjects.sqlite', [PIPE]],
    ['keys', [PIPE, 'a broken symbolic link']],
    ['lock', [PIPE]],
    ['lock.pid', [PIPE]],
  ] as const)
    for (const what of kinds)
      await t.test(`${what} in place of ${name} is refused`, async (t) => {
        const { data, service } = await startedWith(t, await copied(), name, what)
        t.notOk(service.listens)
        t.equal(await service.ended, 1)
        t.match(service.err(), `${name} is ${what}, not a file`)
        t.notOk((await lstat(join(data, name))).isFile(), 'it is left as it is')
      })
})

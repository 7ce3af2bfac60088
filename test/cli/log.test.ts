import { execFile } from 'node:child_process'
import { cp, mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { openDatabase } from '../../src/adapters/embedded/sqlite.ts'
import { startService } from '../start.ts'
import { rollcall } from './service.ts'

const run = promisify(execFile)

await t.test('log check and projections status read a running service and a read-only copy', async (t) => {
  const service = await startService(t, { 'storage.type': 'embedded' })
  const data = join(service.directory, 'data')
  const status = (of: string) => rollcall(['projections', 'status', '--data', of, '-o', 'json'])
  t.match(await status(data), { exit: 0, err: '' })
  await service.close()
  const [copy, readOnly] = [join(service.directory, 'copy'), join(service.directory, 'read-only')]
  await cp(data, copy, { recursive: true })
  await mkdir(readOnly)
  const mounted = await run('mount', ['--bind', copy, readOnly]).then(Boolean, () => false)
  if (!mounted) {
    t.comment('not run: mounting a directory read-only needs root')
    return
  }
  t.teardown(() => run('umount', ['-l', readOnly]))
  await run('mount', ['-o', 'remount,ro,bind', readOnly])
  const found = await status(readOnly)
  t.strictSame([found.exit, found.err], [0, ''])
  t.ok((JSON.parse(found.out) as { lag: number }[]).length > 5)
  t.strictSame(found.out, (await status(data)).out)
  t.match(await rollcall(['log', 'check', '--data', readOnly]), { exit: 0, err: /no problems/ })
  await rm(join(copy, 'views.sqlite'))
  t.match(await status(readOnly), { exit: 0, err: '', out: /"position": ?"0"/ })
})

await t.test('log check reads the whole log of a running service and prints problems', async (t) => {
  const service = await startService(t, { 'storage.type': 'embedded' })
  for (const key of ['f', 'g', 'h'])
    t.equal((await service.request('POST', '/api/v1/namespaces/default/flags', { key, name: key })).status, 200)
  const data = join(service.directory, 'data')
  const check = (...more: readonly string[]) => rollcall(['log', 'check', '--data', data, ...more])
  const whole = await check()
  t.match([whole.exit, whole.out, whole.err], [0, '', /^\d+ events checked: no problems\.\n$/])
  await service.close()

  const file = join(data, 'events.sqlite')
  const database = await openDatabase(file, 'durable')
  database.exec(`drop trigger events_never_change; drop trigger events_never_go;
    update events set id = (select id from events where position = 1), time = '2020-01-01T00:00:00.000Z' where stream = 'flag-default+g';
    update events set data = '{"nothing":1}' where stream = 'flag-default+h'; delete from events where position = 2`)
  database.close()
  const wrong = await check('-o', 'json')
  t.equal(wrong.exit, 3)
  const found = JSON.parse(wrong.out) as { check: string; where: string; found: string }[]
  for (const one of [
    { check: 'guards', where: 'trigger events_never_change' },
    { check: 'guards', where: 'trigger events_never_go' },
    { check: 'positions', where: 'position 2' },
    { check: 'ids', found: '2 events have it' },
    { check: 'times', found: /earlier/ },
    { check: 'events', found: /cannot be read \(FlagCreated/ },
  ])
    t.ok(
      found.some((each) =>
        Object.entries(one).every(([key, value]) =>
          value instanceof RegExp ? value.test(each[key as 'check']) : each[key as 'check'] === value,
        ),
      ),
      JSON.stringify(one),
    )
  t.match(wrong.err, /problems\.\n$/)

  const bytes = await open(file, 'r+')
  await bytes.write(Buffer.alloc(4096 * 3, 0xa5), 0, 4096 * 3, 4096)
  await bytes.close()
  const broken = await check()
  t.match([broken.exit, broken.out], [3, /sqlite +the file/])

  await rm(file)
  t.match(await check(), { exit: 4, err: /There is no .*events\.sqlite/ })
})

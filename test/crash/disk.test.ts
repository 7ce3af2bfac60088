import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openEmbedded } from '../../src/adapters/embedded/open.ts'
import { systemClock } from '../../src/base/clock.ts'
import { isRefusal } from '../../src/base/errors.ts'
import { newDirectory } from '../adapters/embedded/store.ts'
import { happened } from '../contracts/log.ts'
import { serve, spoil } from '../stories/own-process.ts'
import { eventually } from '../wait.ts'
import { CHILD, canTrace, inspect, leaveOut, NO_STRACE, run, startChild } from './rig.ts'

const TOKENS = '/auth/v1/tokens?pageSize=1'

/** Mounts a disk of 4 MiB on a directory; returns false with a comment if that is not possible. */
const smallDisk = async (t: Test, directory: string): Promise<boolean> => {
  const mounted =
    process.getuid?.() === 0 &&
    (await run('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', directory]).then(Boolean, () => false))
  if (mounted) t.teardown(() => run('umount', ['-l', directory]))
  else leaveOut(t, 'mounting a small file system needs root')
  return mounted
}

void t.test('after a failed sync of the disk all appends are refused, and no acknowledged event is lost', async (t) => {
  if (!(await canTrace())) return leaveOut(t, NO_STRACE)
  const directory = await newDirectory(t)
  const inject = ['-e', 'trace=fsync,fdatasync', '-e', 'inject=fsync,fdatasync:error=EIO:when=80+']
  const traced = ['-f', '-qq', '-o', '/dev/null', ...inject, process.execPath, CHILD, directory, '1']
  const { lines, count, until, kill, acked } = startChild(traced, 'strace')
  await until(() => count('refused') >= 20, 'twenty refusals')
  const first = lines.indexOf('refused')
  await kill()
  t.ok(count('ack') > 0, 'some were acknowledged before')
  t.ok(lines.length >= first + 20, 'the process lives on')
  t.ok(
    lines.slice(first).every((line) => line === 'refused'),
    'and acknowledges nothing any more',
  )
  const { lost, torn, differing } = await inspect(directory, acked())
  t.same({ lost, torn, differing }, { lost: 0, torn: 0, differing: 0 })
})

void t.test('each append is synced to the disk before it is acknowledged', async (t) => {
  if (!(await canTrace())) return leaveOut(t, NO_STRACE)
  const directory = await newDirectory(t)
  const trace = join(directory, 'trace')
  const traced = ['-f', '-qq', '-o', trace, '-e', 'trace=fsync,fdatasync', process.execPath, CHILD, directory, '1']
  const { count, until, kill } = startChild(traced, 'strace')
  await until(() => count('ack') >= 200, 'acknowledgement 200')
  await kill()
  const syncs = (await readFile(trace, 'utf8')).split('\n').filter((line) => /f(data)?sync\(/.test(line)).length
  t.ok(count('ack') >= 200 && syncs >= count('ack'), `${count('ack')} acknowledged, ${syncs} syncs`)
})

void t.test('a full disk refuses appends, loses nothing and recovers', async (t) => {
  const directory = await newDirectory(t)
  if (!(await smallDisk(t, directory))) return
  const filler = join(directory, 'filler')
  await writeFile(filler, Buffer.alloc(2 ** 20))
  const store = await openEmbedded(directory, {
    clock: systemClock,
    kek: new Uint8Array(32),
    onError: (_, error) => t.fail(String(error)),
  })
  const big = (n: number) => ({ ...happened(n), meta: JSON.stringify({ text: 'x'.repeat(4000) }) })
  const acked: string[] = []
  const fill = async (label: string) => {
    for (let n = 0; n < 2000; n++) {
      const stream = `${label}-${n}`
      try {
        await store.log.append(stream, [big(n)], 'none')
        acked.push(stream)
      } catch (error) {
        return error
      }
    }
    return undefined
  }
  t.ok(isRefusal(await fill('first'), 'backend_unavailable'))
  const full = acked.length
  t.ok(isRefusal(await fill('still'), 'backend_unavailable'))
  await rm(filler)
  await fill('then')
  t.ok(full > 0 && acked.length > full, `${full} until it was full, ${acked.length - full} after`)
  const streams = new Set<string>()
  for await (const page of store.log.readAll(0n)) for (const { stream } of page) streams.add(stream)
  t.same(
    acked.filter((stream) => !streams.has(stream)),
    [],
  )
  await store.close()
})

void t.test('a rebuild of read models on a full disk waits for space and completes', async (t) => {
  const directory = await newDirectory(t)
  if (!(await smallDisk(t, directory))) return
  const data = join(directory, 'data')
  const service = await serve(t, data)
  t.ok(service.listens, service.err())
  for (let n = 0; n < 20; n++)
    t.equal((await service.ask('POST', '/auth/v1/method/token', { name: `n ${n}` })).status, 200)
  t.equal((await service.ask('GET', TOKENS)).status, 200)
  await spoil(data, 'tokens')
  const filler = join(directory, 'filler')
  await run('dd', ['if=/dev/zero', `of=${filler}`, 'bs=4096']).catch(() => undefined)
  t.match(await service.ask('GET', '/auth/v1/tokens'), { status: 503, text: /"view_behind"/ })
  await eventually(
    () => service.lines().some(({ msg }) => String(msg).startsWith('disk full')),
    'a line on the full disk',
  )
  t.match(await service.ask('GET', TOKENS), { status: 503, text: /"view_behind"/ })
  t.match(
    (await service.ask('GET', '/readyz?verbose')).text,
    /"views","status":"degraded".*"storage","status":"degraded"/,
  )
  await rm(filler)
  const whole = await eventually(async () => {
    const { status, text } = await service.ask('GET', TOKENS)
    return status === 200 && text
  }, 'a list of tokens')
  t.match(whole, /"totalCount":21/)
  const errors = service.lines().filter(({ level }) => level === 'ERROR')
  // SQLite may report a disk I/O error if it has no space for its auxiliary files.
  const others = errors.filter(({ msg }) => msg !== 'the read models cannot be rebuilt; the service tries again')
  t.match(others, [{ msg: /^disk full/ }])
  t.equal(others.length, 1)
  service.kill('SIGTERM')
  t.equal(await service.ended, 0)
})

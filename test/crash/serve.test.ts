import { once } from 'node:events'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { newDirectory } from '../adapters/embedded/store.ts'
import { eventually } from '../wait.ts'
import { canTrace, leaveOut, NO_STRACE, run, startChild } from './rig.ts'

const main = resolve(import.meta.dirname, '../../src/main.js')
const BIG = 'x'.repeat(900)
// No process of these tests may end because of its grace period.
process.env['ROLLCALL_SERVER_SHUTDOWN_GRACE'] = '1h'

type Line = Readonly<Record<string, unknown>>
type Answer<T> = { readonly status: number; readonly json: T }

/** Starts `rollcall serve` in its own process and waits until it listens; `through` is the command that starts it. */
const serve = async (t: Test, directory: string, through: readonly string[] = [], known = '') => {
  const serving = [main, 'serve', '--data', directory, '--host', '127.0.0.1', '--port', '0']
  const [command = process.execPath, ...args] = [...through, process.execPath, ...serving]
  const { child, lines, until } = startChild(args, command)
  const exited = once(child, 'close').then(([code]) => code as number | null)
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const told = (): readonly Line[] =>
    lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Line)
  const found = (field: string) => told().find((line) => line[field] !== undefined)?.[field] as string | undefined
  await until(() => found('url') !== undefined, 'the service to listen')
  const token = found('client_token') ?? known
  const request = async <T = Line>(method: string, path: string, body?: object): Promise<Answer<T>> => {
    const headers = { authorization: `Bearer ${token}` }
    const answer = await fetch(`${found('url')}${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: answer.status, json: (await answer.json()) as T }
  }
  const make = () => request<{ clientToken: string }>('POST', '/auth/v1/method/token', { name: 'n', description: BIG })
  /** Creates tokens until one is refused; returns the others. */
  const fill = async (most: number) => {
    const made: string[] = []
    for (let n = 0; n < most; n++) {
      const { status, json } = await make().catch(() => ({ status: 0, json: { clientToken: '' } }))
      if (status !== 200) return { made, status }
      made.push(json.clientToken)
    }
    return { made, status: 200 }
  }
  const at = (level: string) => told().filter((line) => line['level'] === level)
  const checks = async () => {
    const { status, json } = await request<{ checks: readonly { name: string; status: string }[] }>(
      'GET',
      '/readyz?verbose',
    )
    return { status, ...Object.fromEntries(json.checks.map((check) => [check.name, check.status])) } as Line
  }
  const lags = async () => {
    const page = await (await fetch(`${found('url')}/metrics`)).text()
    return Number(/^rollcall_view_lag_events (\d+)$/m.exec(page)?.[1]) > 0
  }
  const holds = async (tokens: readonly string[]) => {
    for (const one of tokens) {
      const { status } = await fetch(`${found('url')}/auth/v1/self`, { headers: { authorization: `Bearer ${one}` } })
      if (status !== 200) t.fail(`a token that was acknowledged answers ${status}`)
    }
  }
  return { child, exited, token, told, at, until, request, make, fill, checks, lags, holds }
}

await t.test('the service survives a full disk', async (t) => {
  const directory = await newDirectory(t)
  const mounted =
    process.getuid?.() === 0 &&
    (await run('mount', ['-t', 'tmpfs', '-o', 'size=6m', 'tmpfs', directory]).then(Boolean, () => false))
  if (!mounted) return leaveOut(t, 'mounting a small file system needs root')
  t.teardown(() => run('umount', ['-l', directory]))
  const filler = join(directory, 'filler')
  await writeFile(filler, Buffer.alloc(3 * 2 ** 20))
  const service = await serve(t, directory)
  const { request, fill, checks, lags, at, until } = service
  const flag = { key: 'f', name: 'f', type: 'BOOLEAN_FLAG_TYPE' }
  t.equal((await request('POST', '/api/v1/namespaces/default/flags', flag)).status, 200)
  const evaluate = () => request('POST', '/evaluate/v1/boolean', { flagKey: 'f', entityId: 'e' })

  const first = await fill(2_000)
  t.equal(first.status, 503)
  for (let n = 0; n < 20; n++) t.equal((await service.make()).status, 503, 'every write is refused')
  t.match(
    at('ERROR').map(({ msg }) => msg),
    [new RegExp(`^disk full: nothing can be written in ${directory}; free some space`)],
    'one line says so',
  )
  const [refused] = service.told().filter(({ status }) => status === 503)
  t.match(refused, {
    msg: 'answered',
    reason: 'backend_unavailable',
    why: `the disk is full: no space is left in ${directory}`,
  })
  t.match(await checks(), { status: 200, storage: 'degraded', log: 'ok', views: 'ok' })
  t.equal((await evaluate()).status, 200, 'evaluation goes on')

  await rm(filler)
  await until(() => at('INFO').some(({ msg }) => msg === 'the disk has space again'), 'the disk to have space again')
  t.match(await checks(), { status: 200, storage: 'ok' })
  const then = await fill(20)
  t.equal(then.status, 200, 'writes go on by themselves')
  t.equal(at('ERROR').length, 1)

  await fill(5_000)
  t.equal((await service.make()).status, 503, 'full again')
  // These must not delay the end.
  await eventually(lags, 'events whose rows, and their mark, wait to be written to the read models')
  service.child.kill('SIGTERM')
  t.equal(await service.exited, 0, 'SIGTERM ends it')
  t.notOk(
    service.told().some(({ msg }) => /shutdown_grace/.test(String(msg))),
    'by itself, and not because its grace is over',
  )

  await run('mount', ['-o', 'remount,size=32m', directory])
  const again = await serve(t, directory, [], service.token)
  await again.holds([...first.made, ...then.made])
})

/** Expects the process to end by itself, and a restart to find all acknowledged data. */
const lost = async (t: Test, through: readonly string[]): Promise<void> => {
  const directory = await newDirectory(t)
  const service = await serve(t, directory, through)
  const { made, status } = await service.fill(20_000)
  t.ok(made.length > 0 && status !== 200, `${made.length} acknowledged, then ${status}`)
  t.equal(await service.exited, 1)
  t.match(service.at('ERROR')[0], {
    msg: /^rollcall ends: this process can no longer write/,
    err: { message: /\.sqlite: / },
  })
  t.ok(
    service.at('ERROR').length <= 3,
    service
      .at('ERROR')
      .map(({ msg }) => msg)
      .join('\n'),
  )
  const again = await serve(t, directory, [], service.token)
  await again.holds(made)
  t.equal((await again.make()).status, 200)
}

// The test runner's preloaded module writes files that the limit would break.
await t.test('a limit of the file size ends the process with 1, and a restart finds all events', (t) =>
  lost(t, ['sh', '-c', 'unset NODE_OPTIONS; ulimit -f 2000; exec "$@"', 'sh']),
)

await t.test('a failed sync ends the process with 1, and a restart finds all events', async (t) => {
  if (!(await canTrace())) return leaveOut(t, NO_STRACE)
  const inject = ['-e', 'trace=fsync,fdatasync', '-e', 'inject=fsync,fdatasync:error=EIO:when=80+']
  await lost(t, ['strace', '-f', '-qq', '-o', '/dev/null', ...inject])
})

await t.test('a renamed data directory ends the process with 1, and holds all acknowledged data', async (t) => {
  const parent = await newDirectory(t)
  const [directory, old] = [join(parent, 'data'), join(parent, 'old')]
  const service = await serve(t, directory)
  const { made } = await service.fill(20)
  t.equal(made.length, 20)
  await rename(directory, old)
  const second = await serve(t, directory)
  const then = await service.fill(20)
  t.ok(then.made.length === 0 && then.status !== 200, 'no write is acknowledged')
  t.equal(await service.exited, 1)
  t.match(service.at('ERROR'), [
    {
      msg: /^rollcall ends: a file of the data directory was moved, removed or replaced;/,
      err: { message: /data\/(\w+\.sqlite|lock)(-\w+)? was moved, removed or replaced while it was open$/ },
    },
  ])
  t.equal(service.at('ERROR').length, 1)
  const own = await second.fill(5)
  second.child.kill('SIGTERM')
  t.equal(await second.exited, 0)
  const again = await serve(t, directory, [], second.token)
  await again.holds(own.made)
  const restored = await serve(t, old, [], service.token)
  await restored.holds(made)
})

await t.test('removed read models end the process with 1, without a write', async (t) => {
  const directory = await newDirectory(t)
  const service = await serve(t, directory)
  const { made } = await service.fill(5)
  await rm(join(directory, 'views.sqlite'))
  t.equal(await service.exited, 1)
  t.match(service.at('ERROR'), [{ err: { message: /views\.sqlite was moved, removed or replaced/ } }])
  const again = await serve(t, directory, [], service.token)
  await again.holds(made)
})

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { Agent, type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { openKeyFile } from '../../src/adapters/embedded/files/secret-file.ts'
import { openEmbedded } from '../../src/adapters/embedded/open.ts'
import { systemClock } from '../../src/base/clock.ts'
import { newDirectory } from '../adapters/embedded/store.ts'
import { has, leaveOut, NO_STRACE, run } from '../crash/rig.ts'
import { eventually } from '../wait.ts'

const main = resolve(import.meta.dirname, '../../src/main.js')
type Line = Readonly<Record<string, unknown>>

/**
 * Starts `rollcall serve` in its own process with a grace period longer than the test; `through` is the command that
 * starts it.
 */
const serve = async (
  t: Test,
  directory: string,
  environment: NodeJS.ProcessEnv = {},
  through: readonly string[] = [],
) => {
  const words = [...through, process.execPath, main, 'serve']
  const env = {
    PATH: process.env['PATH'],
    ROLLCALL_STORAGE_DATA_DIR: directory,
    ROLLCALL_SERVER_HOST: '127.0.0.1',
    ROLLCALL_SERVER_HTTP_PORT: '0',
    ROLLCALL_SERVER_SHUTDOWN_GRACE: '1h',
    ...environment,
  }
  const child = spawn(words[0]!, words.slice(1), { env })
  let out = ''
  child.stdout.on('data', (data: Buffer) => (out += String(data)))
  const exited = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string)
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const told = (): readonly Line[] =>
    out
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line)
  const until = async (found: (lines: readonly Line[]) => boolean, what: string) => {
    await eventually(() => found(told()), what)
  }
  const listens = async () => {
    await until((lines) => lines.some(({ url }) => url !== undefined), 'the service to listen')
    return Number(new URL(String(told().find(({ url }) => url !== undefined)!['url'])).port)
  }
  return {
    child,
    said: () => out,
    told,
    until,
    listens,
    exited,
    token: () => String(told().find((line) => line['client_token'])?.['client_token']),
  }
}

/** Returns the child of a process. */
const childOf = async (parent: number): Promise<number> => {
  const { stdout } = spawn('ps', ['-o', 'pid=', '--ppid', String(parent)])
  let pid = ''
  for await (const data of stdout) pid += String(data)
  if (!/^\s*\d+\s*$/.test(pid) || Number(pid) < 2) throw new Error(`no one process, but ${JSON.stringify(pid)}`)
  return Number(pid)
}

await t.test('at the end idle connections get a last answer and are closed, not reset', async (t) => {
  const service = await serve(t, await newDirectory(t))
  const port = await service.listens()
  const headers = { authorization: `Bearer ${service.token()}` }
  const [failed, unsaid]: [string[], string[]] = [[], []]
  const seen = { answered: 0, kept: 0, closed: 0, left: false }
  const ask = (agent: Agent, path = '/auth/v1/self', errors = failed) =>
    new Promise<IncomingMessage | undefined>((done) => {
      const outgoing = request({ port, host: '127.0.0.1', path, headers, agent }, (answer) => {
        answer.resume().on('end', () => done(answer))
      })
      outgoing.on('error', (error: NodeJS.ErrnoException) => {
        errors.push(`${error.code}`)
        done(undefined)
      })
      outgoing.end()
    })
  const lane = async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    for (let answers = 0; ; ) {
      const after = seen.left
      const answer = await ask(agent)
      if (!answer) break
      seen.answered++
      if (++answers === 1) seen.kept++
      if (answer.statusCode !== 200) failed.push(String(answer.statusCode))
      if (answer.headers.connection === 'close') {
        seen.closed++
        break
      }
      if (after) unsaid.push('an answer to what came after the signal keeps its connection')
    }
    agent.destroy()
  }
  const lanes = Array.from({ length: 64 }, lane)
  // The system resets connections that are not accepted yet when the port closes, so wait for an answer on each.
  await eventually(() => seen.answered >= 640 && seen.kept >= 64, 'answers on each of the connections')
  service.child.kill('SIGTERM')
  // Each probe has a connection of its own, which the system may reset when the port closes.
  const probe = new Agent()
  const ready = () => ask(probe, '/readyz', [])
  for (let answer = await ready(); answer?.statusCode === 200; ) answer = await ready()
  seen.left = true
  await Promise.all(lanes)
  t.same(failed, [])
  t.equal(seen.closed, 64)
  t.same(unsaid, [])
  t.equal(await service.exited, 0)
})

await t.test('requests that run longer than the grace period are cut, and one warning has their count', async (t) => {
  const service = await serve(t, await newDirectory(t), { ROLLCALL_SERVER_SHUTDOWN_GRACE: '8s' })
  const port = await service.listens()
  const slow = Array.from({ length: 3 }, () => connect(port, '127.0.0.1'))
  const taken = slow.map((socket) => once(socket, 'data'))
  for (const socket of slow)
    socket
      .on('error', () => undefined)
      .write(
        `POST /auth/v1/method/token HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.token()}\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n`,
      )
  await Promise.all(taken)
  service.child.kill('SIGTERM')
  t.equal(await service.exited, 0)
  const warned = service.told().filter(({ level }) => level === 'WARN')
  t.match(warned, [{ requests: 3, msg: /shutdown_grace/ }])
  t.equal(warned.length, 1)
  t.match(service.told().at(-1), { msg: 'rollcall has stopped' })
})

/** Creates a directory with a history of `events` events and no read models. */
const history = async (t: Test, events: number) => {
  const directory = await newDirectory(t)
  const { kek } = await openKeyFile(join(directory, 'keys'))
  const store = await openEmbedded(directory, { clock: systemClock, kek, onError: (_, error) => t.fail(String(error)) })
  const data = JSON.stringify({
    key: 'x',
    name: 'x',
    description: 'x'.repeat(1000),
    incarnation: 'x',
    protected: false,
  })
  await Promise.all(
    Array.from({ length: events }, (_, n) =>
      store.log.append(
        `namespace-n${n}`,
        [
          {
            id: `e${n}`,
            type: 'NamespaceCreated.v1',
            time: '2026-01-01T00:00:00.000Z',
            data: data.replace('"x"', `"n${n}"`),
            meta: '{}',
          },
        ],
        'none',
      ),
    ),
  )
  await store.close()
  await rm(join(directory, 'views.sqlite'), { force: true })
  return directory
}

await t.test('a SIGTERM during the start closes everything and ends with 0', async (t) => {
  const directory = await history(t, 20_000)
  const service = await serve(t, directory)
  await service.until((lines) => lines.length > 0, 'its first line')
  service.child.kill('SIGTERM')
  t.equal(await service.exited, 0)
  t.notOk(
    service.told().some(({ url }) => url !== undefined),
    'it never listened',
  )
  t.match(service.told().at(-1), { level: 'INFO', msg: /^rollcall (has|was) stopped/ })
  t.same(
    service.told().filter(({ level }) => level === 'ERROR' || level === 'WARN'),
    [],
  )
})

await t.test('the service also ends as process 1 of a container, even during its start', async (t) => {
  const inside = ['unshare', '-fp', '--mount-proc', '--kill-child']
  if (!((await has('unshare')) && (await run(inside[0]!, [...inside.slice(1), 'true']).then(Boolean, () => false))))
    return leaveOut(t, 'needs unshare that may create a namespace of processes (Debian: apt-get install util-linux)')
  for (const [directory, ready] of [
    [await newDirectory(t), true],
    [await history(t, 20_000), false],
  ] as const) {
    const service = await serve(t, directory, {}, inside)
    if (ready) await service.listens()
    else await service.until((lines) => lines.length > 0, 'its first line')
    process.kill(await childOf(service.child.pid!), 'SIGTERM')
    t.equal(await service.exited, 0, `${ready ? 'while it listens' : 'while it starts'}: ${service.said()}`)
  }
})

await t.test('the service ends on request while it waits for a missing server', async (t) => {
  const service = await serve(t, await mkdtemp(join(tmpdir(), 'rollcall-test-')), {
    ROLLCALL_STORAGE_TYPE: 'cluster',
    ROLLCALL_EVENTSTORE_URL: 'esdb://127.0.0.1:1?tls=false',
    ROLLCALL_MONGODB_URL: 'mongodb://127.0.0.1:1',
    ROLLCALL_REDIS_URL: 'redis://127.0.0.1:1',
  })
  await service.until(
    (lines) => lines.some(({ msg }) => /cannot start yet/.test(String(msg))),
    'the server to be missed',
  )
  service.child.kill('SIGTERM')
  t.equal(await service.exited, 0)
})

await t.test('a store that does not answer delays the end by the grace period at most', async (t) => {
  if (!((await has('strace')) && (await run('strace', ['-o', '/dev/null', 'true']).then(Boolean, () => false))))
    return leaveOut(t, NO_STRACE)
  const directory = await newDirectory(t)
  const calls = join(directory, 'calls')
  const slow = ['strace', '-f', '-qq', '-o', calls, '-e', 'trace=ftruncate', '-e']
  const service = await serve(t, join(directory, 'data'), { ROLLCALL_SERVER_SHUTDOWN_GRACE: '1s' }, [
    ...slow,
    'inject=ftruncate:delay_enter=80000000',
  ])
  // From now on its writer is inside SQLite.
  await eventually(
    async () => (await readFile(calls, 'utf8').catch(() => '')).includes('ftruncate('),
    'the writer to be held up',
  )
  const pid = await childOf(service.child.pid!)
  process.kill(pid, 'SIGTERM')
  await service.until(
    (lines) => lines.some(({ msg }) => /takes longer than server.shutdown_grace/.test(String(msg))),
    'the grace to be over',
  )
  const isThere = async () => {
    const { stdout } = spawn('ps', ['-o', 'stat=', '-p', String(pid)])
    let state = ''
    for await (const data of stdout) state += String(data)
    return !/^\s*(?:Z.*)?$/s.test(state)
  }
  await eventually(async () => !(await isThere()), 'the process to be over')
  t.pass('it is over, whatever its threads do')
})

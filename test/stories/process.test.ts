import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync, writeSync } from 'node:fs'
import { chmod, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { openDatabase } from '../../src/adapters/embedded/sqlite.ts'
import { freePort } from '../free-port.ts'
import { eventually } from '../wait.ts'

const main = resolve(import.meta.dirname, '../../src/main.js')
type Environment = Readonly<Record<string, string>>

/** Starts `rollcall serve` in its own process, on a free port by default; resolves when it listens or has ended. */
const serve = async (t: Test, directory: string, environment: Environment = {}, logFile?: string) => {
  const own = {
    ROLLCALL_STORAGE_DATA_DIR: directory,
    ROLLCALL_SERVER_HOST: '127.0.0.1',
    ROLLCALL_SERVER_HTTP_PORT: '0',
  }
  const child = spawn(process.execPath, [main, 'serve'], { env: { PATH: process.env['PATH'], ...own, ...environment } })
  const told = { out: '', err: '' }
  const exited = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string)
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
  })
  child.stderr.on('data', (data: Buffer) => (told.err += String(data)))
  const port = await new Promise<number>((listening) => {
    void exited.then(() => listening(0))
    const portIn = (text: string) => {
      const url = /"url":"http:\/\/127\.0\.0\.1:(\d+)"/.exec(text)
      if (url) listening(Number(url[1]))
      return url !== null
    }
    child.stdout.on('data', (data: Buffer) => {
      told.out += String(data)
      portIn(told.out)
    })
    const inFile = async () => portIn(await readFile(logFile!, 'utf8').catch(() => ''))
    if (logFile !== undefined) void eventually(inFile, 'the port in the log file')
  })
  return {
    port,
    told,
    exited,
    token: () => /"client_token":"([^"]+)"/.exec(told.out)?.[1] ?? '',
    kill: (signal: NodeJS.Signals = 'SIGTERM') => child.kill(signal),
  }
}

const directoryOf = async (t: Test) => {
  const directory = await mkdtemp(join(tmpdir(), 'rollcall-test-'))
  t.teardown(() => rm(directory, { recursive: true }))
  return directory
}

/** Expects a start to fail; returns its end. */
const failed = async (t: Test, directory: string, environment: Environment = {}) => {
  const { port, told, exited } = await serve(t, directory, environment)
  t.equal(port, 0, 'it does not listen')
  return { ...told, exit: await exited }
}

await t.test('a start that fails prints the reason', async (t) => {
  const directory = await directoryOf(t)
  const first = await serve(t, directory)
  const pid = (await readFile(join(directory, 'lock.pid'), 'utf8')).trim()
  const second = await failed(t, directory)
  t.match(second, { exit: 1, err: new RegExp(`data directory ${directory} is in use by process ${pid}\\n`), out: '' })

  const busy = await failed(t, await directoryOf(t), { ROLLCALL_SERVER_HTTP_PORT: String(first.port) })
  t.match(busy, { exit: 1, err: /port \d+ is in use: choose a different port with --port N/ })
  first.kill()
  t.equal(await first.exited, 0)

  await chmod(join(directory, 'keys'), 0o640)
  t.match(await failed(t, directory), { exit: 1, err: /key file .* is readable by other users/, out: '' })

  const file = join(await directoryOf(t), 'file')
  await writeFile(file, '')
  t.match(await failed(t, file), {
    exit: 2,
    err: new RegExp(`${file} is not a directory`),
    out: /^\{"level":"ERROR".*\}\n$/,
  })

  const broken = await directoryOf(t)
  await writeFile(join(broken, 'events.sqlite'), 'this was never a database, whatever its name says '.repeat(20))
  t.match(await failed(t, broken), {
    exit: 1,
    err: new RegExp(
      `data directory ${broken} cannot be used: ${broken}/events.sqlite: .*\nRestore the file from the backup`,
    ),
    out: /^\{"level":"ERROR".*\}\n$/,
  })

  const bootstrap = 'AUTHENTICATION_METHODS_TOKEN_BOOTSTRAP_TOKEN'
  const weak = await failed(t, await directoryOf(t), { [`ROLLCALL_${bootstrap}`]: 'weak-hunter2' })
  t.match(weak, {
    exit: 2,
    err: /authentication\.methods\.token\.bootstrap\.token: must be at least 16 characters/,
    out: '',
  })
  t.notMatch(weak.err, /hunter2/)
})

await t.test('a generated bootstrap token is logged at any log level', async (t) => {
  const file = join(await directoryOf(t), 'log')
  const service = serve(t, await directoryOf(t), { ROLLCALL_LOG_LEVEL: 'ERROR', ROLLCALL_LOG_FILE: file })
  const text = await eventually(() => readFile(file, 'utf8').catch(() => ''), 'the first line of the log')
  t.match(text, /^\{"level":"INFO".*"client_token":"rcb_\w+".*\}\n$/)
  void service
})

const exchange = async (port: number, bytes: string): Promise<string> => {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('data', (data: Buffer) => (text += String(data)))
  socket.write(bytes)
  await once(socket, 'close')
  return text
}

await t.test('on SIGTERM running requests finish, /readyz fails, and the process ends with 0', async (t) => {
  const service = await serve(t, await directoryOf(t))
  const body = '{"name":"slow"}'
  const head = `Host: x\r\nAuthorization: Bearer ${service.token()}\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`
  const slow = connect(service.port, '127.0.0.1')
  let answer = ''
  slow.on('data', (data: Buffer) => (answer += String(data)))
  slow.write(`POST /auth/v1/method/token HTTP/1.1\r\n${head}${body.slice(0, 5)}`)
  const ready = () => exchange(service.port, 'GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  t.match(await ready(), /^HTTP\/1\.1 200 /)
  service.kill()
  let draining = await ready()
  while (draining.startsWith('HTTP/1.1 200 ')) draining = await ready()
  t.match(draining, /^HTTP\/1\.1 503 [^]*cache-control: no-store[^]*\{"status":"not_ready"\}$/)
  slow.write(body.slice(5))
  await once(slow, 'close')
  t.match(answer, /^HTTP\/1\.1 200 [^]*"clientToken":"rct_/)
  t.equal(await service.exited, 0)
  t.match(service.told.out, /rollcall has stopped/)
})

const preloaded = { NODE_OPTIONS: `--import ${resolve(import.meta.dirname, 'faulty.js')}` }

await t.test('SIGHUP reopens log.file, SIGUSR1 opens no debugger, and standard error stays empty', async (t) => {
  const folder = await directoryOf(t)
  const [file, old] = [join(folder, 'log'), join(folder, 'log.1')]
  const provoking = { ...preloaded, FAULT: 'lines', ROLLCALL_LOG_FILE: file }
  const service = await serve(t, await directoryOf(t), provoking, file)
  service.kill('SIGUSR1')
  await rename(file, old)
  service.kill('SIGHUP')
  const isNew = async () => (await stat(file).catch(() => undefined))?.mode
  t.equal((await eventually(isNew, 'the new file')) & 0o777, 0o600, 'only its owner reads it')
  t.match(
    await exchange(service.port, 'GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'),
    /^HTTP\/1\.1 200 /,
  )
  service.kill('SIGUSR2')
  for (const line of ['ExperimentalWarning","why":"a provoked warning', '"why":"a provoked line'])
    await eventually(async () => (await readFile(file, 'utf8')).includes(line), line)
  service.kill()
  t.equal(await service.exited, 0)
  t.match(await readFile(file, 'utf8'), /^\{[^]*"rollcall has stopped"/)
  // A checkpoint may be logged before or after the signal.
  t.match(await readFile(old, 'utf8'), /"rollcall is listening"[^]*\}\n$/, 'whole lines')
  t.notMatch(await readFile(old, 'utf8'), /"rollcall has stopped"|provoked/)
  t.strictSame(service.told, { out: '', err: '' })
})

await t.test('without log.file the SIGHUP of a closed terminal stops the service in order', async (t) => {
  const service = await serve(t, await directoryOf(t))
  service.kill('SIGHUP')
  t.equal(await service.exited, 0)
  t.match(service.told.out, /"rollcall has stopped"/)
  t.equal(service.told.err, '')
})

await t.test('a standard error that no process reads delays neither answers nor the end', async (t) => {
  const path = join(await directoryOf(t), 'pipe')
  t.equal(spawnSync('mkfifo', [path]).status, 0)
  const pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
  t.teardown(() => closeSync(pipe))
  t.throws(
    () => {
      for (;;) writeSync(pipe, 'x'.repeat(4096))
    },
    { code: 'EAGAIN' },
  )
  const port = await freePort()
  const child = spawn(process.execPath, [main, 'serve'], {
    env: {
      PATH: process.env['PATH'],
      ROLLCALL_STORAGE_DATA_DIR: await directoryOf(t),
      ROLLCALL_SERVER_HOST: '127.0.0.1',
      ROLLCALL_SERVER_HTTP_PORT: String(port),
      ROLLCALL_SERVER_SHUTDOWN_GRACE: '60s',
      // The failure of this file is reported on standard error.
      ROLLCALL_LOG_FILE: '/dev/full',
    },
    stdio: ['ignore', 'ignore', pipe],
  })
  const exited = once(child, 'close')
  t.teardown(() => child.kill('SIGKILL'))
  const answers = async () => (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.status === 200
  await eventually(answers, 'an answer')
  child.kill('SIGTERM')
  t.strictSame(await exited, [0, null])
})

const authorized = (token: string) => ({ authorization: `Bearer ${token}` })

for (const [fault, why] of [
  ['rejection', /Error: a provoked rejection\\n +at /],
  ['exception', /Error: a provoked exception\\n +at /],
  ['writer', /Error: the thread that writes to the disk has ended\\n +at /],
] as const) {
  await t.test(`a fault ends the process with 1, and a restart finds all data: ${fault}`, async (t) => {
    const directory = await directoryOf(t)
    const service = await serve(t, directory, { ...preloaded, FAULT: fault })
    const make = async (name: string) => {
      const url = `http://127.0.0.1:${service.port}/auth/v1/method/token`
      const answer = await fetch(url, {
        method: 'POST',
        headers: authorized(service.token()),
        body: JSON.stringify({ name }),
      })
      t.equal(answer.status, 200)
      return ((await answer.json()) as { clientToken: string }).clientToken
    }
    const acknowledged = [service.token()]
    for (let n = 0; n < 5; n++)
      acknowledged.push(...(await Promise.all(Array.from({ length: 8 }, (_, of) => make(`token ${n}.${of}`)))))

    const running = connect(service.port, '127.0.0.1')
    let answer = ''
    running.on('data', (data: Buffer) => (answer += String(data)))
    running.write(
      `GET /auth/v1/self HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.token()}\r\nConnection: close\r\nContent-Length: 2\r\n\r\n`,
    )
    const ready = () => exchange(service.port, 'GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    t.match(await ready(), /^HTTP\/1\.1 200 /)
    service.kill('SIGUSR2')
    let draining = await ready()
    while (draining.startsWith('HTTP/1.1 200 ')) draining = await ready()
    t.match(draining, /^HTTP\/1\.1 503 /, 'it is not ready while it ends')
    running.write('{}')
    await once(running, 'close')
    t.match(answer, /^HTTP\/1\.1 200 /, 'the running request is answered')
    t.equal(await service.exited, 1)

    const errors = service.told.out.split('\n').filter((line) => line.includes('"level":"ERROR"'))
    t.match(errors[0], why)
    t.match(errors[0], /"msg":"rollcall ends: /)
    // Without its writer the end leaves unfinished work, which is logged too.
    if (fault !== 'writer') t.equal(errors.length, 1, errors.join('\n'))
    t.equal(service.told.err, '')

    const again = await serve(t, directory)
    for (const token of acknowledged) {
      const { status } = await fetch(`http://127.0.0.1:${again.port}/auth/v1/self`, { headers: authorized(token) })
      if (status !== 200) t.fail(`a token answers ${status}`)
    }
    again.kill()
    t.equal(await again.exited, 0)
    const database = await openDatabase(join(directory, 'events.sqlite'), 'read')
    const sql = "select data from events where type = 'InstanceStopped' order by position"
    const stops = database.prepare(sql).all() as { readonly data: string }[]
    database.close()
    const causes = stops.map(({ data }) => (JSON.parse(data) as { cause: string }).cause)
    t.strictSame(causes, fault === 'writer' ? ['signal'] : ['error', 'signal'])
  })
}

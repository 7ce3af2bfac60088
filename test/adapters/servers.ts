import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, stat } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { freePort } from '../free-port.ts'
import { failureOf } from '../stand-ins/built-program.ts'
import { eventually } from '../wait.ts'
import { ferretdb } from './ferretdb.ts'

const run = promisify(execFile)

const answers = (port: number) =>
  new Promise<boolean>((told) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      told(true)
    })
    socket.once('error', () => told(false))
  })

/** A server for a test file that can be killed, frozen and restarted on its port. */
export type Server = {
  readonly url: string
  readonly start: () => Promise<void>
  readonly kill: () => Promise<void>
  readonly freeze: () => void
  readonly thaw: () => void
  /** Copies its disk at one moment, like a volume snapshot; returns the path. */
  readonly copy: () => Promise<string>
  /** Kills the server and restarts it on its port with a copy, or empty. */
  readonly restore: (copy?: string) => Promise<void>
}
/** Owner of started processes: they end with it. */
export type Owner = Pick<Test, 'teardown'>
/** A server, or the reason why there is none in one line. */
export type Found =
  | { readonly server: Server; readonly skip: false }
  | { readonly server?: undefined; readonly skip: string }

let count = 0
/** Number of servers that this process has started. */
export const serversStarted = (): number => count

const launcher = async (
  t: Owner,
  command: string,
  scheme: string,
  args: (port: number, directory: string) => readonly string[],
) => {
  count++
  const directory = await mkdtemp(join(tmpdir(), 'rollcall-test-'))
  const port = await freePort()
  let child: ChildProcess | undefined

  const kill = async () => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise((gone) => child?.once('exit', gone))
    child.kill('SIGKILL')
    await ended
  }
  const start = async () => {
    child = spawn(command, args(port, directory), { cwd: directory, stdio: 'ignore' })
    await eventually(() => {
      if (child?.exitCode !== null) throw new Error(`${command} did not start`)
      return answers(port)
    }, `${command} to start`)
  }
  const copies: string[] = []
  const copy = async () => {
    const place = await mkdtemp(join(tmpdir(), 'rollcall-test-'))
    copies.push(place)
    child?.kill('SIGSTOP')
    await cp(directory, place, { recursive: true, filter: async (path) => !(await stat(path)).isSocket() })
    child?.kill('SIGCONT')
    return place
  }
  const restore = async (from?: string) => {
    await kill()
    await rm(directory, { recursive: true })
    await mkdir(directory)
    if (from !== undefined) await cp(from, directory, { recursive: true })
    await start()
  }
  t.teardown(async () => {
    await kill()
    for (const place of [directory, ...copies]) await rm(place, { recursive: true })
  })
  await start()
  const server: Server = {
    url: `${scheme}://127.0.0.1:${port}`,
    start,
    kill,
    freeze: () => void child?.kill('SIGSTOP'),
    thaw: () => void child?.kill('SIGCONT'),
    copy,
    restore,
  }
  return { server, skip: false } as const
}

/** Documents per command to the stand-in for MongoDB, which hangs with a hundred. */
export const STAND_IN_BULK = 50

/** A separate server with MongoDB's protocol. */
export const ownMongo = async (t: Owner): Promise<Found> => {
  let program: string
  try {
    program = await ferretdb()
  } catch (error) {
    return { skip: `needs FerretDB, which Go 1.24 builds: ${failureOf(error)}` }
  }
  return launcher(t, program, 'mongodb', (port, directory) => [`127.0.0.1:${port}`, directory])
}

/** A separate redis-server with these options in addition to the common ones. */
export const redisWith = async (
  t: Owner,
  options: (port: number, directory: string) => readonly string[],
): Promise<Found> => {
  try {
    await run('redis-server', ['--version'])
  } catch {
    return { skip: 'needs redis-server on the path (Debian: apt-get install redis-server)' }
  }
  return launcher(t, 'redis-server', 'redis', options)
}

/** Options of a Redis without persistence. */
export const IN_MEMORY = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'] as const

/** A separate Redis without persistence. */
export const ownRedis = (t: Owner): Promise<Found> =>
  redisWith(t, (port) => ['--port', `${port}`, ...IN_MEMORY, '--databases', '1000'])

export type Address =
  | { readonly name: string; readonly url: string; readonly skip: false }
  | { readonly name: string; readonly skip: string }

const addresses = async (name: string, variable: string, own: Promise<Found>): Promise<readonly Address[]> => {
  const url = process.env[variable]
  const real: Address =
    url === undefined ? { name: variable, skip: `needs a server at ${variable}` } : { name: variable, url, skip: false }
  const { server, skip } = await own
  return [server ? { name, url: server.url, skip: false } : { name, skip }, real]
}

/** Servers to run a contract on: the stand-in, and the server configured in the environment. */
export const mongoAddresses = (t: Test) => addresses('FerretDB', 'ROLLCALL_TEST_MONGODB_URL', ownMongo(t))
export const redisAddresses = (t: Test) => addresses('redis-server', 'ROLLCALL_TEST_REDIS_URL', ownRedis(t))

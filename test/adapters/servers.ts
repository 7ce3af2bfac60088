import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFile, cp, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { homedir, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { freePort } from '../free-port.ts'
import { eventually } from '../wait.ts'

/** Long enough for most first builds; what was built until then is kept by Go for the next time. */
const BUILD_MS = 160_000
const run = promisify(execFile)
const root = resolve(import.meta.dirname, '../../..')

const answers = (port: number) =>
  new Promise<boolean>((told) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      told(true)
    })
    socket.once('error', () => told(false))
  })

/** A server of a test file: it can be killed, frozen and started again on its port. */
export type Server = {
  readonly url: string
  readonly start: () => Promise<void>
  readonly kill: () => Promise<void>
  readonly freeze: () => void
  readonly thaw: () => void
  /** What its disk holds at one moment, as a snapshot of the volume; gives where it lies. */
  readonly copy: () => Promise<string>
  /** Dies, and comes back on its port with what a copy holds; with nothing where there is none. */
  readonly restore: (copy?: string) => Promise<void>
}
/** Whose end is the end of what was started for it: a test, or whoever else ends. */
export type Owner = Pick<Test, 'teardown'>
/** A server, or in one line why there is none. */
export type Found =
  | { readonly server: Server; readonly skip: false }
  | { readonly server?: undefined; readonly skip: string }

const launcher = async (
  t: Owner,
  command: string,
  scheme: string,
  args: (port: number, directory: string) => readonly string[],
) => {
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

/** Documents in one command to the stand-in for MongoDB, which hangs on a hundred. */
export const STAND_IN_BULK = 50

/**
 * FerretDB reads a whole collection to find one document: it asks for its id in other words than its index has, and only where nothing else is
 * asked of the document. MongoDB never does that.
 */
const LOOK_UP = [
  { file: 'internal/backends/sqlite/metadata/metadata.go', its: `"->'$._id'"`, ours: '`->"_id"`' },
  {
    file: 'internal/backends/sqlite/collection.go',
    its: 'if params.Filter.Len() == 1 {',
    ours: 'if params.Filter.Len() >= 1 {',
  },
]

/** Makes a go.mod by which the stand-in for MongoDB looks documents up as MongoDB does: with a copy of FerretDB that does so. */
const mended = async (source: string, folder: string): Promise<string> => {
  const download = ['mod', 'download', '-json', 'github.com/FerretDB/FerretDB']
  const { stdout } = await run('go', download, { cwd: source, timeout: BUILD_MS })
  const copy = join(folder, 'FerretDB')
  await cp((JSON.parse(stdout) as { readonly Dir: string }).Dir, copy, { recursive: true })
  // Modules are kept as files and folders that nobody may write.
  await run('chmod', ['-R', 'u+w', copy])
  for (const { file, its, ours } of LOOK_UP) {
    const text = await readFile(join(copy, file), 'utf8')
    if (!text.includes(its)) throw new Error(`${file} of FerretDB is not what it was`)
    await writeFile(join(copy, file), text.replaceAll(its, ours))
  }
  const mod = join(folder, 'go.mod')
  const given = await readFile(join(source, 'go.mod'), 'utf8')
  await writeFile(mod, `${given}\nreplace github.com/FerretDB/FerretDB => ${copy}\n`)
  await copyFile(join(source, 'go.sum'), join(folder, 'go.sum'))
  return mod
}

/** The stand-in for MongoDB, built once and kept outside the tree. */
const ferretdb = async (): Promise<string> => {
  const folder = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'rollcall-tests')
  const source = join(root, 'test/stand-ins/ferretdb')
  const version = createHash('sha256')
  for (const file of ['go.mod', 'main.go']) version.update(await readFile(join(source, file)))
  version.update(JSON.stringify(LOOK_UP))
  const binary = join(folder, `ferretdb-${version.digest('hex').slice(0, 12)}`)
  const built = await stat(binary).then(
    () => true,
    () => false,
  )
  if (built) return binary
  await mkdir(folder, { recursive: true })
  const making = await mkdtemp(join(folder, 'making-'))
  try {
    const fresh = join(making, 'ferretdb')
    const modfile = await mended(source, making)
    await run('go', ['build', '-modfile', modfile, '-o', fresh, '.'], { cwd: source, timeout: BUILD_MS })
    await rename(fresh, binary)
  } finally {
    await rm(making, { recursive: true })
  }
  return binary
}

type CommandFailure = {
  readonly cmd?: string
  readonly code?: unknown
  readonly stdout?: string
  readonly stderr?: string
}

/** Which command failed, and the first line of what it said; `go mod download -json` says it as JSON. */
const failureOf = (error: unknown): string => {
  const { cmd, code, stdout = '', stderr = '' } = error as CommandFailure
  if (code === 'ENOENT') return 'there is no go on the path'
  if (cmd === undefined) return String(error).split('\n', 1)[0]!
  const said = /"Error": "(.*)"/.exec(stdout)?.[1] ?? stderr.trim()
  return `${cmd} failed: ${said.split(/\n|\\n/, 1)[0]}`
}

/** A server of its own that speaks MongoDB's protocol. */
export const ownMongo = async (t: Owner): Promise<Found> => {
  try {
    return await launcher(t, await ferretdb(), 'mongodb', (port, directory) => [`127.0.0.1:${port}`, directory])
  } catch (error) {
    return { skip: `needs FerretDB, built by Go 1.24 (Debian: apt-get install golang): ${failureOf(error)}` }
  }
}

/** A redis-server of its own with these options beside those that every one has. */
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

/** Options of a Redis that keeps nothing on disk. */
export const IN_MEMORY = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'] as const

/** A Redis of its own, which keeps nothing on disk. */
export const ownRedis = (t: Owner): Promise<Found> =>
  redisWith(t, (port) => ['--port', `${port}`, ...IN_MEMORY, '--databases', '1000'])

export type Address =
  | { readonly name: string; readonly url: string; readonly skip: false }
  | { readonly name: string; readonly skip: string }

const addresses = async (name: string, variable: string, own: Promise<Found>): Promise<readonly Address[]> => {
  const url = process.env[variable]
  const real: Address =
    url === undefined ? { name: variable, skip: `needs ${variable}` } : { name: variable, url, skip: false }
  const { server, skip } = await own
  return [server ? { name, url: server.url, skip: false } : { name, skip }, real]
}

/** Where to run a contract: the stand-in, and the server that the environment names. */
export const mongoAddresses = (t: Test) => addresses('FerretDB', 'ROLLCALL_TEST_MONGODB_URL', ownMongo(t))
export const redisAddresses = (t: Test) => addresses('redis-server', 'ROLLCALL_TEST_REDIS_URL', ownRedis(t))

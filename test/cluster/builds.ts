import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { eventually } from '../wait.ts'

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '../../..')
const TOKEN = 'the-bootstrap-token-of-the-tests'

/**
 * Oldest commit that may share servers with this build during a rolling update; it has no cluster membership and fewer
 * read models.
 */
export const EARLIEST = 'f2e136c0da4e'

/** Program of this build. */
export const present = join(root, 'dist/src/main.js')

/** Compiles sources in their own directory without type checks; returns the program. */
const build = async (t: Test, fill: (directory: string) => Promise<void>): Promise<string> => {
  const directory = await mkdtemp(join(tmpdir(), 'rollcall-build-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  await fill(directory)
  await symlink(join(root, 'node_modules'), join(directory, 'node_modules'))
  const compilerOptions = { noCheck: true, sourceMap: false, incremental: false, tsBuildInfoFile: null }
  const project = join(directory, 'tsconfig.src.json')
  await writeFile(project, JSON.stringify({ extends: './tsconfig.json', compilerOptions, include: ['src'] }))
  // Remove options of the test runner from the environment of the compiler.
  const compiler = [process.execPath, join(root, 'node_modules/typescript/bin/tsc'), '-p', project]
  await run('env', ['-u', 'NODE_OPTIONS', ...compiler])
  return join(directory, 'dist/src/main.js')
}

/** Builds an earlier commit and returns its program, or the reason why it is not available. */
export const earlier = async (
  t: Test,
  commit: string,
): Promise<{ readonly main: string; readonly skip: false } | { readonly main?: undefined; readonly skip: string }> => {
  const git = (...args: readonly string[]) => run('git', ['-C', root, ...args])
  const known = await git('cat-file', '-e', `${commit}^{commit}`).then(
    () => true,
    () => false,
  )
  if (!known) return { skip: `needs the git history back to ${commit} (a clone that is not shallow)` }
  const main = await build(t, async (directory) => {
    const archive = join(directory, 'source.tar')
    await git('archive', '-o', archive, commit, 'src', 'package.json', 'tsconfig.json')
    await run('tar', ['-xf', archive, '-C', directory])
  })
  return { main, skip: false }
}

/** Whether a log line is about a late store, which is unrelated to builds. */
export const isOfReach = (msg: unknown): boolean => /out of reach/.test(String(msg))

/** Builds a hypothetical later version, with replaced texts in its source; returns the program. */
export const later = (t: Test, changes: readonly (readonly [file: string, text: string, other: string])[]) =>
  build(t, async (directory) => {
    for (const each of ['src', 'package.json', 'tsconfig.json'])
      await cp(join(root, each), join(directory, each), { recursive: true })
    for (const [file, text, other] of changes) {
      const path = join(directory, file)
      const source = await readFile(path, 'utf8')
      if (!source.includes(text))
        throw new Error(`${file} does not say ${text}: the build that is to come needs another change`)
      await writeFile(path, source.replace(text, other))
    }
  })

/** Copies this build with a replaced text in a compiled file, without the compiler; returns the program. */
export const altered = async (t: Test, file: string, text: string, other: string): Promise<string> => {
  const directory = await mkdtemp(join(tmpdir(), 'rollcall-build-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  await cp(join(root, 'dist/src'), join(directory, 'dist/src'), { recursive: true })
  for (const each of ['node_modules', 'package.json']) await symlink(join(root, each), join(directory, each))
  const path = join(directory, 'dist', file)
  const source = await readFile(path, 'utf8')
  if (!source.includes(text)) throw new Error(`${file} does not contain ${text}`)
  await writeFile(path, source.replace(text, other))
  return join(directory, 'dist/src/main.js')
}

type Line = Readonly<Record<string, unknown>>
export type Answer = {
  readonly status: number
  readonly json: Readonly<Record<string, unknown>>
  readonly text: string
}

const environmentOf = (settings: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(settings).map(([key, value]) => [`ROLLCALL_${key.toUpperCase().replaceAll('.', '_')}`, value]),
  )

/** Starts the service of a build in its own process and waits until it listens. */
export const serve = async (t: Test, main: string, settings: Readonly<Record<string, string>>) => {
  const own = {
    'server.host': '127.0.0.1',
    'server.http_port': '0',
    'authentication.methods.token.bootstrap.token': TOKEN,
    ...settings,
  }
  const child = spawn(process.execPath, [main, 'serve'], {
    env: { PATH: process.env['PATH'], ...environmentOf(own) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [out, err] = ['', '']
  const exited = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string)
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
  })
  child.stderr.on('data', (data: Buffer) => (err += String(data)))
  const url = await new Promise<string>((listening, failed) => {
    void exited.then((code) => failed(new Error(`it ended with ${code}: ${err}${out}`)))
    child.stdout.on('data', (data: Buffer) => {
      out += String(data)
      const found = /"url":"(http:[^"]+)"/.exec(out)
      if (found) listening(found[1]!)
    })
  })
  const request = async (method: string, path: string, body?: object, token: string = TOKEN): Promise<Answer> => {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, connection: 'close' },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    const isJson = answer.headers.get('content-type')?.startsWith('application/json') && text.startsWith('{')
    const json = (isJson ? JSON.parse(text) : {}) as Answer['json']
    return { status: answer.status, json, text }
  }
  const lines = (): readonly Line[] =>
    out
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Line)
  return {
    request,
    /** Log lines of a level. */
    told: (level: string) => lines().filter((line) => line['level'] === level),
    /** Suspends or resumes the process. */
    freeze: (frozen: boolean) => void child.kill(frozen ? 'SIGSTOP' : 'SIGCONT'),
    /** Sends SIGKILL and waits for the end. */
    kill: async () => {
      child.kill('SIGKILL')
      await exited
    },
    /** Sends SIGTERM and returns the exit code. */
    end: async () => {
      child.kill('SIGTERM')
      return exited
    },
  }
}

export type Serving = Awaited<ReturnType<typeof serve>>

/** Repeats a request while the instance answers that it is not up to date. */
export const known = async (ask: () => Promise<Answer>): Promise<Answer> => {
  const knows = ({ text }: Answer) => !/"(?:auth_stale|backend_unavailable|view_behind)"/.test(text)
  return eventually(async () => {
    const answer = await ask()
    return knows(answer) && answer
  }, 'an answer of an instance that knows')
}

/** Creates a token on an instance; returns it with its id. */
export const issue = async (service: Serving, name: string) => {
  const { status, json, text } = await known(() => service.request('POST', '/auth/v1/method/token', { name }))
  if (status !== 200) throw new Error(`no token: ${text}`)
  return { token: String(json['clientToken']), id: (json['authentication'] as { readonly id: string }).id }
}

/** Waits until an instance answers requests of a token with a status. */
export const becomes = (service: Serving, token: string, wanted: number): Promise<boolean> =>
  eventually(
    async () => (await service.request('GET', '/auth/v1/self', undefined, token)).status === wanted,
    `the answer ${wanted}`,
  )

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Test } from 'tap'
import { openDatabase } from '../../src/adapters/embedded/sqlite.ts'
import { startService } from '../start.ts'

const embedded = { 'storage.type': 'embedded' }
const F = '/api/v1/namespaces/default/flags'
const TOKEN = 'the-bootstrap-token-of-the-tests'
/** Time (ms) after which a hanging process is killed, before the limit of a file. */
const HANGS_MS = 240_000
const main = resolve(import.meta.dirname, '../../src/main.js')
export type Line = Readonly<Record<string, unknown>>

/** Folder that is removed after the test. */
export const scratch = async (t: Test) => {
  const directory = await mkdtemp(join(tmpdir(), 'rollcall-test-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  return directory
}

/** Data directory of a stopped service with tokens and a flag with parts. */
export const ran = async (t: Test) => {
  const first = await startService(t, { ...embedded, 'rate_limit.enabled': 'false' })
  await first.request('POST', F, { key: 'f', name: 'one', type: 'BOOLEAN_FLAG_TYPE', enabled: true })
  for (let n = 0; n < 150; n++)
    await first.request('POST', '/auth/v1/method/token', { name: `token ${n}`, description: 'd'.repeat(100) })
  await first.close()
  const data = join(first.directory, 'data')
  await rm(join(data, 'memory.snapshot'), { force: true })
  return async () => {
    const copy = join(await scratch(t), 'data')
    await cp(data, copy, { recursive: true })
    return copy
  }
}

/** Replaces the documents of a view by invalid JSON. */
export const spoil = async (data: string, view: string) => {
  const database = await openDatabase(join(data, 'views.sqlite'), 'rebuildable')
  const tables = "select name from sqlite_schema where type = 'table' and name glob ?"
  const [table] = database.prepare(tables).all(`${view}_[0-9]*`) as { readonly name: string }[]
  database.exec(`update "${table!.name}" set _doc = '{"key":' where _doc is not null`)
  database.close()
}

/** Log lines of a level. */
export const of = (lines: readonly Line[], level: string) => lines.filter((line) => line['level'] === level)

export type Served = {
  readonly ask: (
    method: string,
    path: string,
    body?: object,
    token?: string,
  ) => Promise<{ readonly status: number; readonly text: string }>
  /** Exit code or signal. */
  readonly ended: Promise<number | string>
  /** Exit code or signal, before all output is read. */
  readonly exited: Promise<number | string>
  readonly kill: ChildProcess['kill']
  /** Stops reading its standard output. */
  readonly readNoMore: () => void
  readonly lines: () => readonly Line[]
  readonly err: () => string
  /** False if it has ended. */
  readonly listens: boolean
}

/** Starts a service in its own process and waits until it listens or has ended; a hanging one is killed. */
export const serve = async (t: Test, data: string): Promise<Served> => {
  const child = spawn(process.execPath, [main, 'serve', '--data', data, '--host', '127.0.0.1', '--port', '0'], {
    env: { PATH: process.env['PATH'], ROLLCALL_AUTHENTICATION_METHODS_TOKEN_BOOTSTRAP_TOKEN: TOKEN },
    timeout: HANGS_MS,
    killSignal: 'SIGKILL',
  })
  let [out, err] = ['', '']
  const over = async (event: 'close' | 'exit') => {
    const [code, signal] = (await once(child, event)) as [number | null, string]
    return code ?? signal
  }
  const ended = over('close')
  const exited = over('exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    child.stdout.resume()
    await ended
  })
  child.stderr.on('data', (data: Buffer) => (err += String(data)))
  const url = await new Promise<string | undefined>((listening) => {
    void ended.then(() => listening(undefined))
    child.stdout.on('data', (data: Buffer) => {
      out += String(data)
      const found = /"url":"([^"]+)"/.exec(out)
      if (found) listening(found[1])
    })
  })
  return {
    ask: async (method, path, body, token = TOKEN) => {
      const answer = await fetch(`${url}${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, connection: 'close' },
        ...(body && { body: JSON.stringify(body) }),
      })
      return { status: answer.status, text: await answer.text() }
    },
    ended,
    exited,
    kill: (signal) => child.kill(signal),
    readNoMore: () => void child.stdout.pause(),
    lines: () =>
      out
        .split('\n')
        .filter((line) => line.endsWith('}'))
        .map((line) => JSON.parse(line) as Line),
    err: () => err,
    listens: url !== undefined,
  }
}

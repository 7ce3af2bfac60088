import { spawn } from 'node:child_process'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import type { Around } from '../../src/cli/options.ts'
import { run } from '../../src/cli/program.ts'
import { terminalOf } from '../../src/cli/terminal/terminal.ts'

export type Seen = {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
  readonly body: string
}
export type Answer = {
  readonly status?: number
  readonly body?: unknown
  readonly text?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sends no answer. */
  readonly silent?: true
}

/** A stand-in for the service on loopback that records requests and sends scripted answers. */
export const standIn = async (answer: (seen: Seen) => Answer) => {
  const seen: Seen[] = []
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    let body = ''
    request.setEncoding('utf8')
    request.on('data', (chunk: string) => (body += chunk))
    request.on('end', () => {
      const url = new URL(request.url ?? '/', 'http://x')
      const one = {
        method: request.method ?? '',
        path: url.pathname,
        query: url.searchParams,
        headers: request.headers,
        body,
      }
      seen.push(one)
      const { status = 200, body: json = {}, text = JSON.stringify(json), headers = {}, silent } = answer(one)
      if (!silent) response.writeHead(status, headers).end(text)
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen, close }
}

/** Body of a refusal (api.md §2.1). */
export const refusal = (status: number, code: number, reason: string, message: string): Answer => ({
  status,
  body: {
    code,
    message,
    details: [
      { '@type': 'type.googleapis.com/google.protobuf.Struct', value: { reason, domain: 'rollcall', metadata: {} } },
    ],
  },
})

export type Ran = { readonly exit: number | null; readonly out: string; readonly err: string }

/** An environment without variables that influence the program. */
const BARE = { PATH: process.env['PATH'], HOME: '/nonexistent' }

const kept = () => {
  const parts: string[] = []
  const stream = new Writable({ write: (chunk, _, done) => (parts.push(String(chunk)), done()) })
  return { stream, text: () => parts.join('') }
}

/** A terminal in memory. Standard input contains `input`; it is a TTY only if `interactive`. */
export const terminalWith = (env: NodeJS.ProcessEnv = {}, input = '', interactive = false) => {
  const [out, err] = [kept(), kept()]
  const stdin = Object.assign(Readable.from(input === '' ? [] : [Buffer.from(input)]), { isTTY: interactive })
  const terminal = terminalOf({ ...BARE, ...env }, { stdin, stdout: out.stream, stderr: err.stream })
  return { terminal, out: out.text, err: err.text }
}

type Within = { readonly clock?: Clock; readonly load?: Around['load']; readonly interactive?: boolean }

/**
 * Runs the command line in this process with an empty environment. Uses the clock of the machine and the real stores
 * unless others are given.
 */
export const rollcall = async (
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  input = '',
  { clock = systemClock, load = (module) => module(), interactive = false }: Within = {},
): Promise<Ran> => {
  const { terminal, out, err } = terminalWith(env, input, interactive)
  const exit = await run(args, { load, clock, terminal })
  return { exit, out: out(), err: err() }
}

/** Runs the compiled program in a separate process. */
export const rollcallProcess = async (
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  input = '',
): Promise<Ran> => {
  const main = resolve(import.meta.dirname, '../../src/main.js')
  const child = spawn(process.execPath, [main, ...args], { env: { ...BARE, ...env } })
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (out += chunk))
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (err += chunk))
  child.stdin.end(input)
  const exit = await new Promise<number | null>((done) => child.on('close', done))
  return { exit, out, err }
}

/** An authentication record with this id and name. */
export const record = (id: string, name = 'ci', more: Readonly<Record<string, unknown>> = {}) => ({
  id,
  method: 'METHOD_TOKEN',
  status: 'ACTIVE' as const,
  createdAt: '2026-01-02T03:04:05.678Z',
  updatedAt: '2026-01-02T03:04:05.678Z',
  metadata: { 'io.service.auth.token.name': name },
  ...more,
})

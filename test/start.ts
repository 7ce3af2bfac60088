import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { Agent, type IncomingHttpHeaders, request as send } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { Test } from 'tap'
import { answersBy, type Document } from './answers.ts'
import { systemClock } from '../src/clock.ts'
import { start } from '../src/app/start.ts'
import { loadConfig } from '../src/config/load.ts'
import { clusterOf, onCluster } from './cluster/own.ts'

/** Values of `settings` by key (`storage.read_only`), as texts; undefined takes the tests' own back. `directory` = another service's, to start on what it left; `file` = what a configuration file says, beneath the settings. */
export type StartOptions = {
  readonly now?: () => Date
  readonly directory?: string
  readonly acceptLostKeys?: string
  readonly file?: object
}
export type Headers = Readonly<Record<string, string | readonly string[]>>

/** An answer: `json` is the parsed body, `{}` when there is none. */
export type Response<T> = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly json: T
}
export type Fields = Readonly<Record<string, unknown>>

const TOKEN = 'the-bootstrap-token-of-the-tests'

const isStale = ({ status, text }: Response<unknown>) => onCluster && status === 503 && text.includes('"auth_stale"')

/** Waits for a later millisecond: tokens that were made in the same one are listed by their random ids. */
const nextMillisecond = async (): Promise<void> => {
  for (const now = Date.now(); Date.now() === now; ) await new Promise((wake) => setImmediate(wake))
}

/** A service really started: a store of its own, a free port, log in a file. It closes itself after the test. The store is the embedded one, or servers when `ROLLCALL_TEST_STACK=cluster`. */
export const startService = async (
  t: Test,
  settings: Readonly<Record<string, string | undefined>> = {},
  { now, directory: given, acceptLostKeys, file: said }: StartOptions = {},
) => {
  const directory = given ?? (await mkdtemp(join(tmpdir(), 'rollcall-test-')))
  const log = join(directory, 'log')
  const flags = {
    'server.host': '127.0.0.1',
    'server.http_port': '0',
    'storage.data_dir': join(directory, 'data'),
    ...(onCluster && settings['storage.type'] === undefined && (await clusterOf(directory))),
    'log.file': log,
    'authentication.methods.token.bootstrap.token': TOKEN,
    ...settings,
  }
  const set = Object.fromEntries(
    Object.entries(flags).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  )
  const file = said && join(directory, 'rollcall.yml')
  if (file) await writeFile(file, JSON.stringify(said))
  const open = () =>
    start(loadConfig({ env: {}, flags: set, ...(file && { file }) }).config, {
      ...(now && { clock: { ...systemClock, now } }),
      acceptLostKeys,
    })
  let running = await open()
  let closed = false
  const agent = new Agent({ keepAlive: true })

  const close = async () => {
    if (closed) return
    closed = true
    agent.destroy()
    await running.close()
  }
  t.teardown(async () => {
    await close()
    if (given === undefined) await rm(directory, { recursive: true, force: true })
  })

  /** Sends a request with the bootstrap token (header `authorization: ''`: without). The path is sent as it stands; a body that is no text is sent as JSON. */
  const exchange = <T>(method: string, path: string, body: unknown, headers: Headers): Promise<Response<T>> => {
    const { port, hostname: host } = new URL(running.url)
    const bytes = body === undefined ? undefined : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
    const sent: Record<string, string | string[]> = { authorization: `Bearer ${TOKEN}` }
    for (const [name, value] of Object.entries(headers))
      sent[name.toLowerCase()] = typeof value === 'string' ? value : [...value]
    if (sent['authorization'] === '') delete sent['authorization']
    if (bytes) sent['content-length'] = String(bytes.length)
    return new Promise((resolve, reject) => {
      const outgoing = send({ host, port, method, path, headers: sent, agent }, (incoming) => {
        const chunks: Buffer[] = []
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
        incoming.on('error', reject)
        incoming.on('end', () => {
          const sent = Buffer.concat(chunks)
          const text = (incoming.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent).toString('utf8')
          const isJson = incoming.headers['content-type']?.startsWith('application/json') && text !== ''
          const json = (isJson ? JSON.parse(text) : {}) as T
          resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text, json })
        })
      })
      outgoing.on('error', reject)
      outgoing.end(bytes)
    })
  }

  let wrongWith: ReturnType<typeof answersBy> | undefined
  /** Every 2xx must be as the service's own document describes it. On servers what is refused since the machine stood still is asked again. */
  const request = async <T = Fields>(
    method: string,
    path: string,
    body?: unknown,
    headers: Headers = {},
  ): Promise<Response<T>> => {
    let answer = await exchange<T>(method, path, body, headers)
    for (let n = 0; n < 50 && isStale(answer); n++) {
      await new Promise((wake) => setTimeout(wake, 100))
      answer = await exchange<T>(method, path, body, headers)
    }
    if (method === 'POST') await nextMillisecond()
    const { status, text, headers: told } = answer
    if (status >= 300 || text === '' || !told['content-type']?.startsWith('application/json')) return answer
    wrongWith ??= answersBy((await exchange<Document>('GET', '/openapi.json', undefined, {})).json)
    const wrong = wrongWith(method, path, status, answer.json)
    if (wrong !== undefined) throw new Error(wrong)
    return answer
  }

  let read = 0
  /** The metrics as they are now: of a page that serves a second none is asked for sooner. */
  const metrics = async (): Promise<string> => {
    await new Promise((wake) => setTimeout(wake, Math.max(0, read + 1010 - performance.now())))
    const { text } = await request('GET', '/metrics')
    read = performance.now()
    return text
  }

  return {
    metrics,
    /** Changes when the service is opened again. */
    get url() {
      return running.url
    },
    token: TOKEN,
    directory,
    request,
    /** What the service has logged so far. */
    logged: () => readFile(log, 'utf8'),
    close,
    /** Stops the service and starts it anew on the same store, with which something may be done between. */
    reopen: async (between?: () => Promise<void>) => {
      await running.close()
      await between?.()
      running = await open()
      closed = false
    },
  }
}

export type Started = Awaited<ReturnType<typeof startService>>

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { Agent, type IncomingHttpHeaders, request as send } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { Test } from 'tap'
import { start } from '../src/app/start.ts'
import { openStores } from '../src/app/stores/stores.ts'
import { type Clock, systemClock } from '../src/base/clock.ts'
import { loadConfig } from '../src/config/load.ts'
import type { EventLog } from '../src/events/log.ts'
import { answersBy } from './answers.ts'
import { clusterOf, onCluster } from './cluster/own.ts'
import { isForNow, isLate } from './late-servers.ts'
import type { VirtualClock } from './virtual-clock.ts'
import { eventually } from './wait.ts'
import { walking } from './walking-clock.ts'

/**
 * `settings`: values by key (`storage.read_only`) as texts; undefined removes a default of the tests. `clock`: clock of
 * the service, advanced by the test; `now`: its wall clock only. `directory`: store of another service to start on;
 * `file`: content of a configuration file with lower precedence than the settings; `logOf`: returns the log that the service
 * uses in place of the opened one.
 */
export type StartOptions = {
  readonly clock?: VirtualClock
  readonly now?: () => Date
  readonly directory?: string
  readonly acceptLostKeys?: string
  readonly file?: object
  readonly logOf?: (log: EventLog) => EventLog
}
export type Headers = Readonly<Record<string, string | readonly string[]>>

/** Answer; `json` is the parsed body, `{}` if there is none. */
export type Response<T> = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly json: T
}
export type Fields = Readonly<Record<string, unknown>>

/** Cache time of a metrics page, in ms. */
export const PAGE_MS = 1_000
const PAGES = /^\w+_http_request_duration_seconds_count\{route="\/metrics",method="GET",status="200"\} (\d+)$/m
const TOKEN = 'the-bootstrap-token-of-the-tests'

/**
 * Clock of a service that can be stopped. A start that waits for a late server sleeps on its clock; because a virtual
 * clock stands still, it retries at once.
 */
const startsOn = (clock: VirtualClock, ending: AbortSignal): Clock => ({
  ...clock,
  sleep: (ms, signal) => (signal === ending ? clock.settle() : clock.sleep(ms, signal)),
})

/**
 * Waits for the next millisecond, because tokens created in the same one are listed by random ids. Concurrent callers
 * wait for the same one.
 */
const milliseconds = (clock: VirtualClock | undefined): (() => Promise<void>) => {
  if (!clock)
    return async () => {
      for (const now = Date.now(); Date.now() === now; ) await new Promise((wake) => setImmediate(wake))
    }
  let moving: Promise<void> = Promise.resolve()
  let next: Promise<void> | undefined
  return () =>
    (next ??= moving.then(() => {
      next = undefined
      return (moving = clock.advance(1))
    }))
}

/**
 * Starts a service with its own store, a free port and a log file; it closes after the test. The store is embedded, or
 * on servers with `ROLLCALL_TEST_STACK=cluster`.
 */
export const startService = async (
  t: Test,
  settings: Readonly<Record<string, string | undefined>> = {},
  { clock, now, directory: given, acceptLostKeys, file: said, logOf }: StartOptions = {},
) => {
  const directory = given ?? (await mkdtemp(join(tmpdir(), 'rollcall-test-')))
  const log = join(directory, 'log')
  const flags = {
    'server.host': '127.0.0.1',
    'server.http_port': '0',
    'storage.data_dir': join(directory, 'data'),
    ...(onCluster && settings['storage.type'] === undefined && (await clusterOf(directory))),
    'log.file': log,
    // No checkpoint changes `sealed` of an event, or a file, between two steps of a test.
    'history.ledger.seal_interval': '1h',
    'authentication.methods.token.bootstrap.token': TOKEN,
    ...settings,
  }
  const set = Object.fromEntries(
    Object.entries(flags).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  )
  const file = said && join(directory, 'rollcall.yml')
  if (file) await writeFile(file, JSON.stringify(said))
  const ending = new AbortController().signal
  const time = clock ? startsOn(clock, ending) : now && { ...systemClock, now }
  const open = async () => {
    const { config } = loadConfig({ env: {}, flags: set, ...(file && { file }) })
    const stores = logOf && (await openStores(config, time ?? systemClock, {}))
    const opened = await start(config, {
      ...(time && { clock: time }),
      ...(stores && { stores: { ...stores, log: logOf(stores.log) } }),
      acceptLostKeys,
      ending,
    })
    // The test's changes are later than those of the start.
    await clock?.advance(1)
    return opened
  }
  let running = await open()
  const nextMillisecond = milliseconds(clock)
  /** Number of served metrics pages. */
  let pages = 0
  let closed = false
  const agent = new Agent({ keepAlive: true })

  /** Waits for the end of the service. Its clock advances slowly, so that the last work ends within its time limits. */
  const ended = async () => {
    const end = () => running.close()
    await (clock ? walking([clock], end) : end())
  }
  const close = async () => {
    if (closed) return
    closed = true
    agent.destroy()
    await ended()
  }
  t.teardown(async () => {
    await close()
    // With a virtual clock, threads may still write after the end of the service.
    if (given === undefined) await rm(directory, { recursive: true, force: true, maxRetries: 5 })
  })

  /**
   * Sends a request with the bootstrap token (header `authorization: ''`: without one). The path is sent unchanged; a
   * body that is not text is sent as JSON.
   */
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
          if (method === 'GET' && path === '/metrics' && incoming.statusCode === 200) pages++
          const json = (isJson ? JSON.parse(text) : {}) as T
          resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text, json })
        })
      })
      outgoing.on('error', reject)
      outgoing.end(bytes)
    })
  }

  let wrongWith: ReturnType<typeof answersBy> | undefined
  /** Checks every 2xx answer against the service's own document, and retries temporary refusals. */
  const request = async <T = Fields>(
    method: string,
    path: string,
    body?: unknown,
    headers: Headers = {},
  ): Promise<Response<T>> => {
    const answer = await eventually(async () => {
      const given = await exchange<T>(method, path, body, headers)
      // On a virtual clock no time limit ends a request. On a real one, a test with a second effect fails as it would now.
      const isRepeated = clock ? isForNow(method, given, 'idempotency-key' in headers) : isLate(given)
      return onCluster && isRepeated ? undefined : given
    }, `an answer to ${method} ${path} of servers that are in time`)
    if (method === 'POST') await nextMillisecond()
    const { status, text, headers: told } = answer
    if (status >= 300 || text === '' || !told['content-type']?.startsWith('application/json')) return answer
    wrongWith ??= answersBy((await exchange('GET', '/openapi.json', undefined, {})).text)
    const wrong = wrongWith(method, path, status, answer.json)
    if (wrong !== undefined) throw new Error(wrong)
    return answer
  }

  /** Returns the present metrics. A page is cached for a second; a new one counts all earlier ones. */
  const metrics = async (): Promise<string> => {
    const before = pages
    await clock?.advance(PAGE_MS)
    return eventually(async () => {
      const { text } = await request('GET', '/metrics')
      return Number(PAGES.exec(text)?.[1] ?? 0) >= before ? text : undefined
    }, 'a new page of metrics')
  }

  return {
    metrics,
    /** Changes when the service is reopened. */
    get url() {
      return running.url
    },
    token: TOKEN,
    directory,
    request,
    /** Returns the log so far. */
    logged: () => readFile(log, 'utf8'),
    close,
    /** Restarts the service on the same store; `between` runs while it is stopped. */
    reopen: async (between?: () => Promise<void>) => {
      await ended()
      await between?.()
      running = await open()
      closed = false
      pages = 0
    },
  }
}

/**
 * Starts a service beside others on the same servers, while all clocks advance: the first one marks its read models as
 * written 250 ms after the first row, and a start waits for that.
 */
export const startBeside = (clocks: readonly VirtualClock[], ...given: Parameters<typeof startService>) =>
  walking(clocks, () => startService(...given))

export type Started = Awaited<ReturnType<typeof startService>>

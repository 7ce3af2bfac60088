import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import autocannon from 'autocannon'
import { median, progress, quantile } from './measure.ts'
import { onCore, type Server } from './processes.ts'

const run = promisify(execFile)
const found = (...paths: readonly string[]) => paths.find((path) => existsSync(path))
const WRK = found('/usr/bin/wrk', '/usr/local/bin/wrk')
/** Requests sent again and again over a number of connections (50); `bodies` and `tokens` are taken in turn. */
export type Load = {
  readonly url: string
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly bodies?: readonly string[]
  readonly tokens?: readonly string[]
  readonly connections?: number
  /** Sent by a thread of its own, whatever this one does meanwhile. */
  readonly inThread?: boolean
}

export type Request = {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** Each of its requests once. */
export const requestsOf = ({ method = 'GET', headers = {}, bodies = [], tokens = [] }: Load): readonly Request[] =>
  Array.from({ length: Math.max(1, bodies.length, tokens.length) }, (_, n) => {
    const token = tokens[n % tokens.length]
    const body = bodies[n % bodies.length]
    return {
      method,
      headers: { ...headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) },
      ...(body !== undefined && { body }),
    }
  })

const CONNECTIONS = 50

const lua = (text: string | undefined) => (text === undefined ? 'nil' : `[==[${text}]==]`)
const luaRequest = ({ method, headers, body }: Request): string => {
  // Without the spaces `[[` would open a text.
  const given = Object.entries(headers).map(([name, value]) => `[ ${lua(name)} ] = ${lua(value)}`)
  return `made[#made+1] = wrk.format(${lua(method)}, nil, {${given.join(',')}}, ${lua(body)})`
}

/** Requests answered, and in how many seconds. */
type Answered = { readonly requests: number; readonly seconds: number }

/** By wrk: it costs little, so that the server is what is measured. */
const byWrk = async (load: Load, seconds: number): Promise<Answered> => {
  const directory = await mkdtemp(join(tmpdir(), 'rollcall-wrk-'))
  const script = join(directory, 'load.lua')
  const told = 'summary.requests, summary.duration, e.status + e.connect + e.read + e.write + e.timeout'
  const lines = [
    'made, n = {}, 0',
    'function init()',
    ...requestsOf(load).map(luaRequest),
    'end',
    'function request() n = n % #made + 1 return made[n] end',
    `function done(summary) local e = summary.errors io.write(string.format("RESULT %d %d %d\\n", ${told})) end`,
  ]
  try {
    await writeFile(script, lines.join('\n'))
    const [command, ...args] = onCore(1, [
      WRK!,
      '-t1',
      `-c${load.connections ?? CONNECTIONS}`,
      `-d${seconds}s`,
      '-s',
      script,
      load.url,
    ])
    const { stdout } = await run(command!, args)
    const [, requests, micros, errors] = /RESULT (\d+) (\d+) (\d+)/.exec(stdout) ?? []
    if (errors !== '0') throw new Error(`${load.url}: ${errors ?? 'no'} errors\n${stdout}`)
    return { requests: Number(requests), seconds: Number(micros) / 1e6 }
  } finally {
    await rm(directory, { recursive: true })
  }
}

const byAutocannon = async (load: Load, duration: number, overallRate?: number) => {
  // Each connection makes its requests anew before the first is sent: many of them would be measured as a late answer.
  const { connections = CONNECTIONS } = load
  const requests = requestsOf(load).slice(0, connections)
  const options = { url: load.url, connections, duration, requests, ...(load.inThread && { workers: 1 }) }
  const result = await autocannon(overallRate === undefined ? options : { ...options, overallRate })
  const refusals = result['4xx'] + result['5xx']
  if (result.errors + refusals > 0) throw new Error(`${load.url}: ${result.errors} errors, ${refusals} refusals`)
  return result
}

/** A load sent for so many seconds. */
const sent = async (load: Load, seconds: number): Promise<Answered> => {
  if (WRK !== undefined) return byWrk(load, seconds)
  const { requests, duration } = await byAutocannon(load, seconds)
  return { requests: requests.total, seconds: duration }
}

/** Milliseconds within which 99 of 100 requests are answered when they come at this rate. */
export const p99AtRate = async (load: Load, rate: number, seconds: number): Promise<number> =>
  (await byAutocannon(load, seconds, rate)).latency.p99

/** Requests per second of several loads, their one-second slices by turns: the upper quantile of each, for noise only ever slows. */
export const rates = async <K extends string>(
  loads: Readonly<Record<K, Load>>,
  rounds = 9,
): Promise<Readonly<Record<K, number>>> => {
  const names = Object.keys(loads) as K[]
  const measured = new Map<K, number[]>(names.map((name) => [name, []]))
  for (let round = -1; round < rounds; round++) {
    for (const name of names) {
      const { requests, seconds } = await sent(loads[name], 1)
      if (round >= 0) measured.get(name)!.push(requests / seconds)
    }
  }
  const upper = (name: K) => quantile(measured.get(name)!, 0.85)
  progress(names.map((name) => `${name} ${Math.round(upper(name))}/s`).join(', '))
  return Object.fromEntries(names.map((name) => [name, upper(name)])) as Record<K, number>
}

/** Microseconds of CPU that each server spends on a request of its load, all its threads and the kernel's part together: the median of one-second slices by turns. */
export const cpuPerRequest = async <K extends string>(
  loads: Readonly<Record<K, { readonly server: Server; readonly load: Load }>>,
  rounds = 5,
): Promise<Readonly<Record<K, number>>> => {
  const names = Object.keys(loads) as K[]
  const measured = new Map<K, number[]>(names.map((name) => [name, []]))
  for (let round = -1; round < rounds; round++) {
    for (const name of names) {
      const { server, load } = loads[name]
      const before = await server.measure('cpu')
      const { requests } = await sent(load, 1)
      if (round >= 0) measured.get(name)!.push(((await server.measure('cpu')) - before) / requests)
    }
  }
  const spent = (name: K) => median(measured.get(name)!) * 1e6
  progress(names.map((name) => `${name} ${Math.round(spent(name))} µs`).join(', '))
  return Object.fromEntries(names.map((name) => [name, spent(name)])) as Record<K, number>
}

import autocannon from 'autocannon'
import { execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { progress, quantile } from './measure.ts'

const run = promisify(execFile)
const WRK = ['/usr/bin/wrk', '/usr/local/bin/wrk'].find((path) => existsSync(path))
const TASKSET = availableParallelism() > 1 && existsSync('/usr/bin/taskset') ? '/usr/bin/taskset' : undefined

/** A server in a process of its own. */
export type Server = { readonly url: string; readonly token: string; readonly stop: () => Promise<void> }

/** Starts a server of `bench/servers` on the first core, where there is another for the load. */
export const startServer = async (name: string, ...args: readonly string[]): Promise<Server> => {
  const script = [new URL(`./servers/${name}.js`, import.meta.url).pathname, ...args]
  const [command, before] = TASKSET === undefined ? [process.execPath, []] : [TASKSET, ['-c', '0', process.execPath]]
  const child = spawn(command, [...before, ...script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  for await (const line of createInterface(child.stdout)) {
    if (!line.startsWith('{')) continue
    const said = JSON.parse(line) as { readonly url: string; readonly token: string }
    const stop = async () => {
      child.kill('SIGTERM')
      await ended
    }
    return { ...said, stop }
  }
  throw new Error(`${name} ended before it listened`)
}

/** One kind of request, sent again and again. `bodies` are taken in turn. */
export type Load = {
  readonly url: string
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly bodies?: readonly string[]
}
export type Slice = { readonly rate: number; readonly p99: number }

const CONNECTIONS = 50

/** A slice by wrk, which costs the other core little, so that the server is what is measured. */
const byWrk = async ({ url, method = 'GET', headers = {}, bodies = [] }: Load, seconds: number): Promise<Slice> => {
  const directory = await mkdtemp(join(tmpdir(), 'rollcall-wrk-'))
  const script = join(directory, 'load.lua')
  const lua = (text: string) => `[==[${text}]==]`
  const lines = [
    `wrk.method = "${method}"`,
    ...Object.entries(headers).map(([name, value]) => `wrk.headers["${name}"] = ${lua(value)}`),
    `local bodies = {${bodies.map(lua).join(',')}}`,
    'local made = {}',
    'function init() for n, body in ipairs(bodies) do made[n] = wrk.format(nil, nil, nil, body) end if #bodies == 0 then made[1] = wrk.format() end end',
    'local n = 0',
    'function request() n = n % #made + 1 return made[n] end',
    'function done(summary, latency) local e = summary.errors io.write(string.format("RESULT %d %d %f %d\\n", summary.requests, summary.duration, latency:percentile(99), e.status + e.connect + e.read + e.write + e.timeout)) end',
  ]
  try {
    await writeFile(script, lines.join('\n'))
    const wrk = [WRK!, '-t1', `-c${CONNECTIONS}`, `-d${seconds}s`, '-s', script, url]
    const [command, ...args] = TASKSET === undefined ? wrk : [TASKSET, '-c', '1', ...wrk]
    const { stdout } = await run(command!, args)
    const [, requests, micros, p99, errors] = /RESULT (\d+) (\d+) ([\d.]+) (\d+)/.exec(stdout) ?? []
    if (requests === undefined || errors !== '0') throw new Error(`${method} ${url}: ${errors ?? 'no'} errors\n${stdout}`)
    return { rate: Number(requests) / (Number(micros) / 1e6), p99: Number(p99) / 1000 }
  } finally {
    await rm(directory, { recursive: true })
  }
}

const byAutocannon = async (
  { url, method = 'GET', headers = {}, bodies = [] }: Load,
  duration: number,
  overallRate?: number,
): Promise<Slice> => {
  const requests = bodies.map((body) => ({ method, headers, body }))
  const options = { url, method, headers, connections: CONNECTIONS, duration, ...(requests.length > 0 && { requests }) }
  const { requests: sent, latency, errors, non2xx } = await autocannon({ ...options, ...(overallRate !== undefined && { overallRate }) })
  if (errors + non2xx > 0) throw new Error(`${method} ${url}: ${errors} errors, ${non2xx} refusals`)
  return { rate: sent.average, p99: latency.p99 }
}

/** Requests per second, and milliseconds within which 99 of 100 were answered. */
export const slice = (load: Load, seconds = 1): Promise<Slice> => (WRK === undefined ? byAutocannon(load, seconds) : byWrk(load, seconds))

/** The same at a rate that is held. */
export const slicesAtRate = (load: Load, rate: number, seconds: number): Promise<Slice> => byAutocannon(load, seconds, rate)

/** Rates of several loads, their one-second slices by turns: the upper quantile of each, for noise only ever slows. */
export const rates = async <K extends string>(loads: Readonly<Record<K, Load>>, rounds = 9): Promise<Readonly<Record<K, number>>> => {
  const names = Object.keys(loads) as K[]
  const measured = new Map<K, number[]>(names.map((name) => [name, []]))
  for (let round = -1; round < rounds; round++) {
    for (const name of names) {
      const { rate } = await slice(loads[name])
      if (round >= 0) measured.get(name)!.push(rate)
    }
  }
  progress(names.map((name) => `${name} ${Math.round(quantile(measured.get(name)!, 0.85))}/s`).join(', '))
  return Object.fromEntries(names.map((name) => [name, quantile(measured.get(name)!, 0.85)])) as Record<K, number>
}

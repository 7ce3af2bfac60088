import { evaluation, FLAGS, TOKENS } from './http.ts'
import { type Request, requestsOf } from './load.ts'
import { progress, quantile, type Row, told } from './measure.ts'
import { offFirstCore, type Server, startServer } from './processes.ts'

const ROUNDS = Number(process.env['ROLLCALL_BENCH_ROUNDS'] ?? 6)
const TIMES = 40_000

/** The request as it comes over the wire. */
const wire = (path: string, { method, headers, body = '' }: Request): string =>
  [
    `${method} ${path} HTTP/1.1`,
    'host: bench',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    `content-length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n')

/** Asks a server's process for the CPU of one evaluation after another. */
export const asked = async (server: Server, path: string) => {
  const load = evaluation(server, path)
  const all = requestsOf(load)
  const [{ method, headers, body } = { method: 'GET', headers: {} }] = all
  const { status } = await fetch(load.url, { method, headers, ...(body !== undefined && { body }) })
  if (status !== 200) throw new Error(`${load.url} answered ${status}`)
  const requests = all.map((request) => wire(path, request))
  return () => server.measure({ requests, times: TIMES })
}

/** Processes of each kind that are measured, because the CPU time of two equal processes differs by up to 25 %. */
const PROCESSES = Number(process.env['ROLLCALL_BENCH_PROCESSES'] ?? 5)

/** CPU in µs of an evaluation: the best of the processes, and all of them. */
export type Cpu = { readonly best: number; readonly all: readonly number[] }

type Kind = { readonly start: () => Promise<Server>; readonly path: string }

/** Measures two processes by turns: the lower quantile of each, because noise only adds. */
const cpuByTurns = async (kinds: readonly Kind[]): Promise<readonly number[]> => {
  const servers: Server[] = []
  try {
    for (const { start } of kinds) servers.push(await start())
    const works: (() => Promise<number>)[] = []
    for (const [n, { path }] of kinds.entries()) works.push(await asked(servers[n]!, path))
    const spent = works.map((): number[] => [])
    for (let round = -2; round < ROUNDS; round++)
      for (const [n, work] of works.entries()) {
        const cost = await work()
        if (round >= 0) spent[n]!.push(cost)
      }
    return spent.map((all) => quantile(all, 0.1) * 1e6)
  } finally {
    await Promise.all(servers.map(({ stop }) => stop()))
  }
}

/** CPU of a request of two kinds of server, each in several processes, whose order changes with each pair. */
export const cpuOf = async (one: Kind, other: Kind): Promise<readonly [one: Cpu, other: Cpu]> => {
  const costs: [number[], number[]] = [[], []]
  for (let n = 0; n < PROCESSES; n++) {
    const order = n % 2 === 0 ? [0, 1] : [1, 0]
    const spent = await cpuByTurns(order.map((which) => [one, other][which]!))
    for (const [at, which] of order.entries()) costs[which]!.push(spent[at]!)
    progress(spent.map((cost) => `${cost.toFixed(1)} µs`).join(', '))
  }
  const cpu = (all: readonly number[]): Cpu => ({ best: Math.min(...all), all })
  return [cpu(costs[0]), cpu(costs[1])]
}

/** The costs of a kind in words. */
export const inWords = ({ best, all }: Cpu): string =>
  `${best.toFixed(1)} µs, at most ${Math.max(...all).toFixed(1)} µs`

/**
 * B1 without the network: the CPU of the same requests on connections that are memory only, so that what the kernel takes for
 * reading and writing, most of all where machines are shared, is in neither.
 */
export const run = (): Promise<readonly Row[]> =>
  offFirstCore(async () => {
    const [mine, other] = await cpuOf(
      {
        start: () => startServer('service', `--flags=${FLAGS}`, `--tokens=${TOKENS}`),
        path: '/evaluate/v1/boolean',
      },
      { start: () => startServer('bare', `${FLAGS}`, `${TOKENS}`), path: '/' },
    )
    const name = 'CPU of a bare `node:http` doing the same / of an authenticated evaluation, connections in memory'
    return [told('B1m', name, (other.best / mine.best).toFixed(2), `${inWords(other)} against ${inWords(mine)}`)]
  })

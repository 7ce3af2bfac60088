import { evaluation, FLAGS, TOKENS } from './http.ts'
import { type Request, requestsOf } from './load.ts'
import { progress, quantile, type Row, told } from './measure.ts'
import { offFirstCore, type Server, startServer } from './processes.ts'

const ROUNDS = Number(process.env['ROLLCALL_BENCH_ROUNDS'] ?? 12)
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
  const port = Number(new URL(server.url).port)
  return () => server.measure({ requests, times: TIMES, port })
}

/** Measures works by turns: the lower quantile of each in µs, because noise only adds. */
const byTurns = async (works: readonly (() => Promise<number>)[]): Promise<readonly number[]> => {
  const spent = works.map((): number[] => [])
  for (let round = -2; round < ROUNDS; round++)
    for (const [n, work] of works.entries()) {
      const cost = await work()
      if (round >= 0) spent[n]!.push(cost)
    }
  return spent.map((all) => quantile(all, 0.1) * 1e6)
}

/** CPU in µs of an evaluation of two services of one process, which differ in these settings. */
export const cpuOfPair = async (
  first: readonly string[],
  second: readonly string[],
): Promise<{ readonly first: number; readonly second: number; readonly note: string }> => {
  const settings = [...first.map((text) => `--first=${text}`), ...second.map((text) => `--second=${text}`)]
  const pair = await startServer('pair', `--flags=${FLAGS}`, ...settings)
  try {
    const path = '/evaluate/v1/boolean'
    const works = [await asked(pair, path), await asked({ ...pair, url: pair.secondUrl! }, path)]
    const [one, other] = (await byTurns(works)) as [number, number]
    return { first: one, second: other, note: `${one.toFixed(1)} µs, ${other.toFixed(1)} µs` }
  } finally {
    await pair.stop()
  }
}

/**
 * B1 without the network: the CPU of the same requests on connections that are memory only, so that what the kernel takes for
 * reading and writing, most of all where machines are shared, is in neither.
 */
export const run = (): Promise<readonly Row[]> =>
  offFirstCore(async () => {
    const service = await startServer('service', `--flags=${FLAGS}`, `--tokens=${TOKENS}`)
    const bare = await startServer('bare', `${FLAGS}`, `${TOKENS}`)
    try {
      const works = [await asked(service, '/evaluate/v1/boolean'), await asked(bare, '/')]
      const [mine, other] = (await byTurns(works)) as [number, number]
      progress(`ours ${mine.toFixed(1)} µs, theirs ${other.toFixed(1)} µs`)
      const name = 'CPU of a bare `node:http` doing the same / of an authenticated evaluation, connections in memory'
      return [told('B1m', name, (other / mine).toFixed(2), `${other.toFixed(1)} µs against ${mine.toFixed(1)} µs`)]
    } finally {
      await Promise.all([service.stop(), bare.stop()])
    }
  })

import { evaluation, FLAGS, TOKENS } from './http.ts'
import { type Request, requestsOf } from './load.ts'
import { progress, quantile, type Row, told } from './measure.ts'
import { offFirstCore, type Server, startServer } from './processes.ts'

const ROUNDS = 12
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

type Measure = Awaited<ReturnType<typeof asked>>

/** CPU in µs of a request of each of two servers, by turns: the lower quantile, because noise only adds. */
export const cpuByTurns = async (one: Measure, other: Measure): Promise<readonly [one: number, other: number]> => {
  const spent = { one: [] as number[], other: [] as number[] }
  for (let round = -2; round < ROUNDS; round++) {
    const [first, second] = [await one(), await other()]
    if (round < 0) continue
    spent.one.push(first)
    spent.other.push(second)
  }
  return [quantile(spent.one, 0.1) * 1e6, quantile(spent.other, 0.1) * 1e6]
}

/**
 * B1 without the network: the CPU of the same requests on connections that are memory only, so that what the kernel takes for
 * reading and writing, most of all where machines are shared, is in neither. By turns; the lower quantile of each, for noise only ever adds.
 */
export const run = (): Promise<readonly Row[]> =>
  offFirstCore(async () => {
    const service = await startServer('service', `--flags=${FLAGS}`, `--tokens=${TOKENS}`)
    const bare = await startServer('bare', `${FLAGS}`, `${TOKENS}`)
    try {
      const [mine, other] = await cpuByTurns(await asked(service, '/evaluate/v1/boolean'), await asked(bare, '/'))
      progress(`ours ${mine.toFixed(1)} µs, theirs ${other.toFixed(1)} µs`)
      const name = 'CPU of a bare `node:http` doing the same / of an authenticated evaluation, connections in memory'
      return [told('B1m', name, (other / mine).toFixed(2), `${other.toFixed(1)} µs against ${mine.toFixed(1)} µs`)]
    } finally {
      await Promise.all([service.stop(), bare.stop()])
    }
  })

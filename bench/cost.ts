import { creation, evaluation, FLAGS, TOKENS } from './http.ts'
import { cpuPerRequest } from './load.ts'
import { type Row, row, told } from './measure.ts'
import { offFirstCore, type Server, startServer } from './processes.ts'

/** A build of another commit, for example of the last release: the absolute path of its `dist`. */
const BEFORE = process.env['ROLLCALL_BENCH_BEFORE']
const ROUNDS = Number(process.env['ROLLCALL_BENCH_ROUNDS'] ?? 9)

type Loads<K extends string> = Parameters<typeof cpuPerRequest<K>>[0]

/** B1c, B14: CPU of an evaluation and of a token creation over sockets, by turns with a bare server and with another build. */
const cost = async (): Promise<readonly Row[]> => {
  const filled = [`--flags=${FLAGS}`, `--tokens=${TOKENS}`]
  const service = await startServer('service', ...filled)
  const bare = await startServer('bare', `${FLAGS}`, `${TOKENS}`)
  const before = BEFORE === undefined ? undefined : await startServer(`${BEFORE}/bench/servers/service.js`, ...filled)
  const creations = (server: Server) => ({ server, load: creation(server) })
  const evaluations = (server: Server, path = '/evaluate/v1/boolean') => ({ server, load: evaluation(server, path) })
  const micros = (...spent: readonly number[]) => spent.map((one) => `${one.toFixed(1)} µs`).join(' against ')
  try {
    // Evaluations first, because a creation leaves work to the time after it.
    const evaluated = await cpuPerRequest<'now' | 'bare' | 'before'>(
      {
        now: evaluations(service),
        bare: evaluations(bare, '/'),
        ...(before && { before: evaluations(before) }),
      } as Loads<'now' | 'bare' | 'before'>,
      ROUNDS,
    )
    const created = await cpuPerRequest<'now' | 'before'>(
      { now: creations(service), ...(before && { before: creations(before) }) } as Loads<'now' | 'before'>,
      ROUNDS,
    )
    const same = 'CPU of a bare `node:http` doing the same / of an authenticated evaluation, over sockets'
    const both = 'CPU of a durable token creation / of an authenticated evaluation'
    const earlier = (row: string, name: string, { now, before }: Readonly<Record<'now' | 'before', number>>) =>
      told(row, `${name} / of an earlier build`, (now / before).toFixed(2), micros(now, before))
    return [
      row('B1c', same, evaluated.bare / evaluated.now, { atLeast: 0.85 }, '', micros(evaluated.bare, evaluated.now)),
      row('B14', both, created.now / evaluated.now, { atMost: 10 }, '', micros(created.now, evaluated.now)),
      ...(before
        ? [earlier('B1c', 'CPU of an evaluation', evaluated), earlier('B14', 'CPU of a creation', created)]
        : []),
    ]
  } finally {
    await Promise.all([service.stop(), bare.stop(), before?.stop()])
  }
}

export const run = (): Promise<readonly Row[]> => offFirstCore(cost)

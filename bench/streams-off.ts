import { FLAGS, TOKENS } from './http.ts'
import { asked } from './in-memory.ts'
import { quantile, type Row, row } from './measure.ts'
import { offFirstCore, startServer } from './processes.ts'

const ROUNDS = Number(process.env['ROLLCALL_BENCH_ROUNDS'] ?? 12)
/** Processes with the setting, without it, without it, and with it, because two equal processes differ too. */
const SETTINGS = ['true', 'false', 'false', 'true'] as const

/** P4: CPU of an evaluation (B1m) with event streams, of which none is open, and with event streams switched off. */
export const run = (): Promise<readonly Row[]> =>
  offFirstCore(async () => {
    const servers = await Promise.all(
      SETTINGS.map((value) =>
        startServer('service', `--flags=${FLAGS}`, `--tokens=${TOKENS}`, `--set=ofrep.event_streams=${value}`),
      ),
    )
    try {
      const works: (() => Promise<number>)[] = []
      for (const server of servers) works.push(await asked(server, '/evaluate/v1/boolean'))
      const spent = works.map((): number[] => [])
      for (let round = -2; round < ROUNDS; round++)
        for (const [n, work] of works.entries()) {
          const cost = await work()
          if (round >= 0) spent[n]!.push(cost)
        }
      const costs = spent.map((all, n) => ({ value: SETTINGS[n]!, cost: quantile(all, 0.1) * 1e6 }))
      const best = (wanted: string) => Math.min(...costs.flatMap(({ value, cost }) => (value === wanted ? cost : [])))
      const note = costs.map(({ value, cost }) => `${value} ${cost.toFixed(2)} µs`).join(', ')
      const name = 'CPU of an evaluation (B1m) with event streams, none open / with `ofrep.event_streams: false`'
      return [row('P4', name, best('true') / best('false'), { atMost: 1.01 }, '', note)]
    } finally {
      await Promise.all(servers.map(({ stop }) => stop()))
    }
  })

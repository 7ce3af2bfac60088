import { FLAGS, TOKENS } from './http.ts'
import { cpuOf, inWords } from './in-memory.ts'
import { type Row, row } from './measure.ts'
import { offFirstCore, startServer } from './processes.ts'

const kind = (streams: boolean) => ({
  start: () => startServer('service', `--flags=${FLAGS}`, `--tokens=${TOKENS}`, `--set=ofrep.event_streams=${streams}`),
  path: '/evaluate/v1/boolean',
})

/** P4: CPU of an evaluation (B1m) with event streams, of which none is open, and with event streams switched off. */
export const run = (): Promise<readonly Row[]> =>
  offFirstCore(async () => {
    const [on, off] = await cpuOf(kind(true), kind(false))
    const name = 'CPU of an evaluation (B1m) with event streams, none open / with `ofrep.event_streams: false`'
    return [row('P4', name, on.best / off.best, { atMost: 1.01 }, '', `${inWords(on)} against ${inWords(off)}`)]
  })

import { cpuOfPair } from './in-memory.ts'
import { type Row, row } from './measure.ts'
import { offFirstCore } from './processes.ts'

/** P4: CPU of an evaluation (B1m) with event streams, of which none is open, and with event streams switched off. */
export const run = (): Promise<readonly Row[]> =>
  offFirstCore(async () => {
    const { first, second, note } = await cpuOfPair(['ofrep.event_streams=true'], ['ofrep.event_streams=false'])
    const name = 'CPU of an evaluation (B1m) with event streams, none open / with `ofrep.event_streams: false`'
    return [row('P4', name, first / second, { atMost: 1.01 }, '', note)]
  })

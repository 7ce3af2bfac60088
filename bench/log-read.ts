import { randomUUID } from 'node:crypto'
import type { Stored } from '../src/events/log.ts'
import { newStore, tokenIssued, tokenRevoked } from './log-store.ts'
import { progress, quantile, type Row, row, seconds } from './measure.ts'

const EVENTS = Number(process.env['ROLLCALL_BENCH_EVENTS'] ?? 1_000_000)
const BATCH = 1000
const SLICE = 20_000n

/** The line of the export of an event, whose texts are JSON already. */
const line = ({ data, meta, position, revision, ...event }: Stored) =>
  `{"position":${position},"revision":${revision},${JSON.stringify(event).slice(1, -1)},"data":${data},"meta":${meta}}`

/** B10: reading the whole log forward, against JSON.parse of the same events as lines in memory; 20,000 events of each by turns. */
export const run = async (): Promise<readonly Row[]> => {
  progress(`B10: a log of ${EVENTS} events, seven of ten the issue of a token, three its end`)
  const store = await newStore()
  try {
    for (let n = 0; n < EVENTS; n += BATCH) {
      const batch = Array.from({ length: BATCH }, (_, k) => (k % 10 < 7 ? tokenIssued() : tokenRevoked()))
      await store.log.append(`token-${randomUUID()}`, batch, 'none')
    }
    const [reads, parses]: [number[], number[]] = [[], []]
    let bytes = 0
    for (let after = 0n; after < BigInt(EVENTS); after += SLICE) {
      let seen = 0
      const read = await seconds(async () => {
        for await (const page of store.log.readAll(after, after + SLICE)) seen += page.length
      })
      const lines: string[] = []
      for await (const page of store.log.readAll(after, after + SLICE)) lines.push(...page.map(line))
      if (lines.length !== Number(SLICE)) throw new Error(`read ${lines.length} events of ${SLICE}`)
      let parsed = 0
      const parse = await seconds(() => {
        for (const text of lines) parsed += (JSON.parse(text) as { revision: number }).revision >= 0 ? 1 : 0
      })
      bytes += lines.reduce((sum, text) => sum + text.length, 0)
      reads.push(seen / read)
      parses.push(parsed / parse)
    }
    const [read, parse] = [quantile(reads, 0.85), quantile(parses, 0.85)]
    const note = `${Math.round(read)}/s against ${Math.round(parse)}/s, ${Math.round(bytes / EVENTS)} bytes an event`
    return [
      row('B10', `forward read of ${EVENTS} events / JSON.parse of the same`, read / parse, { atLeast: 1.5 }, '', note),
    ]
  } finally {
    await store.done()
  }
}

import { parseArgs } from 'node:util'
import { progress, type Row, table } from './measure.ts'

type Bench = { readonly run: () => Promise<readonly Row[]> }

/** Every bench there is, by the numbers it measures. */
const benches: Readonly<Record<string, () => Promise<Bench>>> = {
  A1: () => import('./access.ts'),
  A2: () => import('./access-review.ts'),
  'B1,B2,B3,B4,B7,E1,E2,E3,E4,E5': () => import('./http.ts'),
  'B1c,B14': () => import('./cost.ts'),
  B1m: () => import('./in-memory.ts'),
  'B5,B6': () => import('./log-append.ts'),
  'B6s,B8': () => import('./log-slow-disk.ts'),
  'B9,B12': () => import('./rebuild.ts'),
  B10: () => import('./log-read.ts'),
  B11: () => import('./memory.ts'),
  B13: () => import('./evaluate-engine.ts'),
  B18: () => import('./start.ts'),
  'B19,B20': () => import('./lists.ts'),
  'B21,B22': () => import('./stops.ts'),
  B23: () => import('./last-evaluation.ts'),
  B24: () => import('./traces.ts'),
  M1: () => import('./resident.ts'),
  'W1,W2': () => import('./ui.ts'),
  'W3,W4': () => import('./ui-build.ts'),
  'W5,W6,W7': () => import('./history-ui.ts'),
  S1: () => import('./stack-append.ts'),
  'S2,S3,S4': () => import('./stack-http.ts'),
  'S5,S8': () => import('./stack-revocations.ts'),
  S9: () => import('./stack-holder.ts'),
  S10: () => import('./stack-commands.ts'),
  'S6,S7': () => import('./stack-bursts.ts'),
  'C1,C2,C6,C7': () => import('./history.ts'),
  'C3,C4,C5,C11': () => import('./exports.ts'),
  'C8,C9,C10': () => import('./past.ts'),
  C16: () => import('./past-lists.ts'),
  'C12,C13,C14,C15': () => import('./ledger.ts'),
  'P1,P2,P3': () => import('./streams.ts'),
  P4: () => import('./streams-off.ts'),
  T1: () => import('./together.ts'),
}

const { values } = parseArgs({ options: { only: { type: 'string' } } })
const wanted = values.only?.split(',')
const chosen = Object.entries(benches).filter(([ids]) => !wanted || ids.split(',').some((id) => wanted.includes(id)))
const rows: Row[] = []
for (const [ids, load] of chosen) {
  try {
    rows.push(...(await (await load()).run()))
  } catch (error) {
    progress(`${ids} failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
    process.exitCode = 1
  }
}
process.stdout.write(`${table(rows.filter(({ id }) => !wanted || wanted.includes(id)))}\n`)
if (rows.some(({ ok }) => !ok)) process.exitCode = 1

import { type Asking, each, type Issued, until } from './asking.ts'
import { progress, type Row } from './measure.ts'
import type { Server } from './processes.ts'

/** A machine with other work takes its time: `ROLLCALL_BENCH_REVOCATIONS` chooses fewer. */
export const REVOCATIONS = Number(process.env['ROLLCALL_BENCH_REVOCATIONS'] ?? 4000)
const REFUSED_MS = 20_000
/** Milliseconds for which instances are looked at after a burst. */
export const SETTLED_MS = 2_000

/** A number of tokens, in the words of a row. */
export const count = (tokens: readonly unknown[]) => tokens.length.toLocaleString('en')
export const secondsOf = (ms: number) => (ms / 1000).toFixed(1)
export const spent = async (servers: readonly Server[]) => Promise.all(servers.map((server) => server.measure('cpu')))
/** Milliseconds of CPU on each server, for each of so many, since `before`. */
export const cpuSince = async (servers: readonly Server[], before: readonly number[], of: number) =>
  (await spent(servers)).map((seconds, n) => (((seconds - before[n]!) * 1000) / of).toFixed(2)).join(' / ')

/** Asked of memory: 404 where the token is honoured, 401 where it is refused, 503 where that is not known. */
const used = async ({ ask }: Asking, { clientToken }: Issued) =>
  (await ask('GET', '/api/v1/namespaces/default/flags/none', clientToken)).status
export const isRefused = async (asked: Asking, token: Issued) => (await used(asked, token)) === 401
export const untilRefused = (asked: Asking, token: Issued) =>
  until(() => isRefused(asked, token), REFUSED_MS, 5).catch(() => REFUSED_MS)
/** How many of these tokens an instance honours. */
export const honoured = async (asked: Asking, tokens: readonly Issued[]): Promise<number> => {
  let some = 0
  await each(tokens, async (token) => void ((await used(asked, token)) === 404 && some++))
  return some
}
export const ready = (bad: number): Pick<Row, 'target' | 'ok'> => ({ target: '0 not ready', ok: bad === 0 })

/** Tells a row as soon as it is there: the whole takes minutes. */
export const said = (row: Row): Row => {
  progress(`${row.id}: ${row.name}: ${row.figure} (${row.note})`)
  return row
}

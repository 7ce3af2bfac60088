import type { EventStatistics } from '../../../src/contract/history/events.ts'
import type { Info, Readiness } from '../../../src/contract/operations.ts'
import { serviceNow } from './clock.ts'
import { query, read } from './request.ts'
import { type Authentication, readTokens } from './tokens.ts'

const DAY_MS = 86_400_000
/** Days that the figures cover, and days before the expiry of a token at which it is listed. */
const [DAYS, ENDING] = [30, 7]

/** Reads the version of the service and the kind of its storage. */
export const readInfo = (signal: AbortSignal): Promise<Info> => read('meta/info', { signal })

/** Reads the checks of the instance that answers. Throws a `Failure` with status 503 if it is not ready. */
export const readChecks = (signal: AbortSignal): Promise<Readiness> => read('readyz?verbose', { signal })

type StatisticsRow = EventStatistics['rows'][number]
/** Figures of each day, from the first one (ms since 1970) to today. Days without events have no row. */
export type Figures = { readonly first: number; readonly days: number; readonly rows: readonly StatisticsRow[] }

/** Reads the figures of the last 30 days (UTC). */
export const readFigures = async (signal: AbortSignal): Promise<Figures> => {
  const first = Math.floor(serviceNow() / DAY_MS) * DAY_MS - (DAYS - 1) * DAY_MS
  const asked = query({ from: new Date(first).toISOString(), bucket: 'day' })
  const { rows } = await read<EventStatistics>(`audit/v1/stats${asked}`, { signal })
  return { first, days: DAYS, rows }
}

/** Reads the static tokens that end within 7 days, the first to end first; at most 50. */
export const readEnding = async (signal: AbortSignal): Promise<readonly Authentication[]> => {
  const { authentications } = await readTokens(
    { kind: 'static', status: 'ACTIVE', sort: 'expiresAt', order: 'asc' },
    signal,
  )
  const until = serviceNow() + ENDING * DAY_MS
  return authentications.filter(({ expiresAt }) => expiresAt !== undefined && Date.parse(expiresAt) < until)
}

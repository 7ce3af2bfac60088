import { fail } from '../../base/failure.ts'
import { parseDuration } from '../../config/duration.ts'

const DAY_MS = 86_400_000
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/

/** Converts `30d`, `12h30m`, an RFC 3339 instant or `never` (undefined) to an RFC 3339 instant in UTC. `now` in ms. */
export const expiryOf = (text: string, now: number): string | undefined => {
  if (text === 'never') return undefined
  const [, days = '0', after = ''] = /^(?:(\d{1,5})d)?(.*)$/.exec(text) ?? []
  const span = Number(days) * DAY_MS + (after === '' ? 0 : (parseDuration(after) ?? Number.NaN))
  if (span > 0) return new Date(now + span).toISOString()
  const instant = INSTANT.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(instant))
    return fail('usage', '--expires must be a duration such as 30d or 12h, an RFC 3339 time, or never.')
  return instant > now ? new Date(instant).toISOString() : fail('usage', '--expires must be in the future.')
}

import { fail } from '../base/failure.ts'
import { parseDuration } from '../config/types.ts'

const DAY_MS = 86_400_000

/**
 * Converts `--at` to the `at` of a request: an RFC 3339 instant, a day (midnight UTC), a time span ago (`-1h`, `-2d`)
 * or a position (`12`, `#12`). `now` in ms.
 */
export const momentOf = (text: string, now: number, name = '--at'): string => {
  if (/^\d{4}-\d\d-\d\dT/.test(text)) return text
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return `${text}T00:00:00Z`
  const [, position] = /^#?(\d+)$/.exec(text) ?? []
  if (position !== undefined) return position
  const [, days = '0', after = ''] = /^-(?:(\d{1,5})d)?(.*)$/.exec(text) ?? []
  const span = Number(days) * DAY_MS + (after === '' ? 0 : (parseDuration(after) ?? Number.NaN))
  if (span > 0) return new Date(now - span).toISOString()
  return fail('usage', `${name} must be an RFC 3339 time, a day, a time span such as -1h, or a position such as #12.`)
}

import type { Clock } from '../../base/clock.ts'

/** Formats times as RFC 3339 UTC text with milliseconds, at most once per millisecond. */
export const timeFormat = (): ((date: Date) => string) => {
  let last = Number.NaN
  let text = ''
  return (date) => {
    const time = date.getTime()
    if (time === last) return text
    last = time
    text = date.toISOString()
    return text
  }
}

/**
 * Milliseconds since a reading of `monotonic`, rounded to the microsecond because further digits have no use.
 */
export const since = (monotonic: Clock['monotonic'], start: number): number =>
  Math.round((monotonic() - start) * 1e3) / 1e3

import type { Clock } from '../../clock.ts'

/** The present as RFC 3339 UTC text with milliseconds, made once a millisecond. */
export const textClock = (now: () => Date): (() => string) => {
  let last = Number.NaN
  let text = ''
  return () => {
    const date = now()
    const time = date.getTime()
    if (time === last) return text
    last = time
    text = date.toISOString()
    return text
  }
}

/** Milliseconds since a reading of `monotonic`, to the microsecond: more digits cost more than they tell. */
export const since = (monotonic: Clock['monotonic'], start: number): number =>
  Math.round((monotonic() - start) * 1e3) / 1e3

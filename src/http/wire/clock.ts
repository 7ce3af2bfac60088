/** The present. Asked often within a millisecond, it is the same object. */
export const wallClock = (): (() => Date) => {
  let last = new Date()
  return () => {
    const time = Date.now()
    if (time !== last.getTime()) last = new Date(time)
    return last
  }
}

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

/** Milliseconds since a reading of `performance.now()`, to the microsecond: more digits cost more than they tell. */
export const since = (start: number): number => Math.round((performance.now() - start) * 1e3) / 1e3

const UNITS = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 } as const
const PART = /(\d+(?:\.\d+)?)(ms|h|m|s)/y

/** Maximum duration: 100 years, so that a date plus a duration remains valid. */
const LONGEST_MS = 876_000 * UNITS.h

/**
 * Parses a duration such as `250ms`, `10s`, `1h30m` to milliseconds; undefined for other texts and for more than 100
 * years.
 */
export const parseDuration = (text: string): number | undefined => {
  let total = 0
  PART.lastIndex = 0
  for (let end = 0; end < text.length; end = PART.lastIndex) {
    const part = PART.exec(text)
    if (!part) return undefined
    total += Number(part[1]) * UNITS[part[2] as keyof typeof UNITS]
  }
  return text === '' || total > LONGEST_MS ? undefined : Math.round(total)
}

/** Shortest text of a duration in milliseconds: 5400000 is `1h30m`. */
export const printDuration = (ms: number): string => {
  let [rest, text] = [ms, '']
  for (const [unit, size] of Object.entries(UNITS)) {
    const count = Math.floor(rest / size)
    if (count > 0) text += `${count}${unit}`
    rest -= count * size
  }
  return text || '0s'
}

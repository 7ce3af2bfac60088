/** What was made of one long value, by what made it. */
export type Readings = Map<(text: string) => unknown, unknown>

/** What `read` makes of a long value: made once for all constraints that ask. */
export const readOnce = <T>(read: (text: string) => T, value: string, readings: Readings): T => {
  if (!readings.has(read)) readings.set(read, read(value))
  return readings.get(read) as T
}

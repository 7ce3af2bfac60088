/** Cache of parsed forms of one long value, by parser. */
export type Readings = Map<(text: string) => unknown, unknown>

/** Returns the parsed form of a long value, parsed once for all constraints. */
export const readOnce = <T>(read: (text: string) => T, value: string, readings: Readings): T => {
  if (!readings.has(read)) readings.set(read, read(value))
  return readings.get(read) as T
}

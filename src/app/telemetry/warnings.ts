const MINUTE_MS = 60_000
/** Maximum number of keys that are tracked, and of UTF-16 units of each. */
const [MOST, LONGEST] = [1_000, 1_000]

type Write = (record: Readonly<Record<string, unknown>>, message: string) => void

/** Writes a line at most once a minute per key. */
export const oncePerMinute = (write: Write, now: () => Date) => {
  const lastLogged = new Map<string, number>()
  return (text: string, record: Readonly<Record<string, unknown>>, message: string): void => {
    const what = text.slice(0, LONGEST)
    const time = now().getTime()
    if (time - (lastLogged.get(what) ?? Number.NEGATIVE_INFINITY) < MINUTE_MS) return
    lastLogged.delete(what)
    if (lastLogged.size >= MOST) lastLogged.delete(lastLogged.keys().next().value!)
    lastLogged.set(what, time)
    write(record, message)
  }
}

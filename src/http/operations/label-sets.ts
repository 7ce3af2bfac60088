/**
 * Maximum label sets per metric; more are counted under `other`, so that clients cannot grow the page without limit.
 */
const BOUND = 10_000
/** Maximum UTF-16 units of the label sets of a metric together. */
const BOUND_SIZE = 4 * 1_048_576

/** Labels that the page omits. */
export type Hidden = ReadonlySet<string>

/** Cells of a metric by label set, bounded in number and size. */
export const cells = <C>(all: readonly string[], hidden: Hidden, make: (labels: readonly string[]) => C) => {
  const known = new Map<string, C>()
  let size = 0
  const labelNames = all.filter((name) => !hidden.has(name))
  const get = (...given: readonly string[]): C => {
    const labels = given.filter((_, n) => !hidden.has(all[n]!))
    const key = labels.join('\0')
    const present = known.get(key)
    if (present !== undefined) return present
    const isShown = known.size < BOUND && size + key.length <= BOUND_SIZE
    const shown = isShown ? labels : labelNames.map(() => 'other')
    if (isShown) size += key.length
    const shownKey = shown.join('\0')
    const cell = known.get(shownKey) ?? make(shown)
    known.set(shownKey, cell)
    return cell
  }
  if (labelNames.length === 0) get()
  return { known, labelNames, get }
}

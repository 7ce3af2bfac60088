/** Items that a change of a list removed and added, and the number of those that stayed. */
type ChangedItems = {
  readonly removed: readonly string[]
  readonly added: readonly string[]
  readonly same: number
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** Items of a list, or of a text that is a JSON list; numbers in such a text keep their notation. */
const itemsOf = (value: unknown): readonly string[] | undefined => {
  if (typeof value === 'object' && value !== null)
    return Array.isArray(value)
      ? value.map(textOf)
      : Object.entries(value).map(([name, member]) => `${name}: ${JSON.stringify(member)}`)
  if (typeof value !== 'string' || !/^\s*\[.*\]\s*$/s.test(value)) return undefined
  if (!value.includes('"')) return value.replaceAll(/[[\]\s]/g, '').split(',')
  try {
    return (JSON.parse(value) as readonly unknown[]).map(textOf)
  } catch {
    return undefined
  }
}

/** Difference of two lists or two objects; undefined for other values, and for those that have nothing in common. */
export const changedItems = (from: unknown, to: unknown): ChangedItems | undefined => {
  const [before, after] = [itemsOf(from), itemsOf(to)]
  if (!before || !after) return undefined
  const [had, has] = [new Set(before), new Set(after)]
  const removed = before.filter((item) => !has.has(item))
  const added = after.filter((item) => !had.has(item))
  const same = after.length - added.length
  return same === 0 || removed.length + added.length === 0 ? undefined : { removed, added, same }
}

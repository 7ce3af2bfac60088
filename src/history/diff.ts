import { canonical } from '../base/canonical.ts'
import { pointer } from '../events/changes-of.ts'

/**
 * A changed value: JSON Pointer (RFC 6901), and the values before and after. A value that is absent before or after the
 * change is undefined.
 */
type ValueChange = { readonly path: string; readonly from?: unknown; readonly to?: unknown }

type Members = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Members =>
  value !== null && typeof value === 'object' && !Array.isArray(value)

const hasId = (value: unknown): value is Members & { readonly id: string } =>
  isObject(value) && typeof value['id'] === 'string'

/** Fields of an object, or items of a list by their different ids; undefined for other values. */
const membersOf = (value: unknown): ReadonlyMap<string, unknown> | undefined => {
  if (isObject(value)) return new Map(Object.entries(value))
  if (!Array.isArray(value) || !value.every(hasId)) return undefined
  const items = new Map(value.map((item) => [item.id, item]))
  return items.size === value.length ? items : undefined
}

const changedValue = (path: string, from: unknown, to: unknown): ValueChange => ({
  path,
  ...(from !== undefined && { from }),
  ...(to !== undefined && { to }),
})

/**
 * Differences of two JSON values. Items of lists are compared by their `id`. Fields named in `ignored` are left out.
 */
export const differences = (
  from: unknown,
  to: unknown,
  ignored: ReadonlySet<string>,
  path = '',
): readonly ValueChange[] => {
  const [before, after] = [membersOf(from), membersOf(to)]
  if (!before || !after || Array.isArray(from) !== Array.isArray(to))
    return canonical(from) === canonical(to) ? [] : [changedValue(path, from, to)]
  const names = new Set([...after.keys(), ...before.keys()])
  return [...names].flatMap((name) => {
    if (ignored.has(name)) return []
    const own = path + pointer(name)
    const [one, other] = [before.get(name), after.get(name)]
    if (one === undefined || other === undefined) return [changedValue(own, one, other)]
    return differences(one, other, ignored, own)
  })
}

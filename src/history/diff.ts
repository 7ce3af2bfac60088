import { canonical } from '../events/canonical.ts'

/** A changed value: JSON Pointer (RFC 6901), and the values before and after. An absent side is undefined. */
type ValueChange = { readonly path: string; readonly from?: unknown; readonly to?: unknown }

type Members = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Members =>
  value !== null && typeof value === 'object' && !Array.isArray(value)

const hasId = (value: unknown): value is Members & { readonly id: string } =>
  isObject(value) && typeof value['id'] === 'string'

/** Items of a list by their id; undefined unless every item has one. */
const byId = (value: unknown): Members | undefined =>
  Array.isArray(value) && value.every(hasId) ? Object.fromEntries(value.map((item) => [item.id, item])) : undefined

const escaped = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')

const changedValue = (path: string, from: unknown, to: unknown): ValueChange => ({
  path,
  ...(from !== undefined && { from }),
  ...(to !== undefined && { to }),
})

/** Differences of two JSON values. Items of lists go by their `id`. Members named in `ignored` are left out. */
export const differences = (
  from: unknown,
  to: unknown,
  ignored: ReadonlySet<string>,
  path = '',
): readonly ValueChange[] => {
  const [before, after] = [byId(from) ?? from, byId(to) ?? to]
  if (!isObject(before) || !isObject(after))
    return canonical(from ?? null) === canonical(to ?? null) ? [] : [changedValue(path, from, to)]
  const names = new Set([...Object.keys(after), ...Object.keys(before)])
  return [...names].flatMap((name) => {
    if (ignored.has(name)) return []
    const own = `${path}/${escaped(name)}`
    const [one, other] = [before[name], after[name]]
    if (one === undefined || other === undefined) return one === other ? [] : [changedValue(own, one, other)]
    return differences(one, other, ignored, own)
  })
}

import type { Json } from '../../api/differences.ts'
import { compare as words } from '../../words/compare.ts'
import type { Whole } from './wholes.ts'

const namesOf = (path: string): readonly string[] =>
  path
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))

type Item = Json & { readonly id?: unknown }

/** Short name of a list item: its key, property or rank, else its id. */
const labelOf = ({ id, key, property, rank }: Item): string =>
  String([key, property, rank, id].find((one) => (typeof one === 'string' && one !== '') || typeof one === 'number'))

const memberOf = (value: unknown, name: string): unknown => {
  if (Array.isArray(value)) return value.find((item: Item | null) => item?.id === name)
  return typeof value === 'object' && value !== null ? (value as Json)[name] : undefined
}

/** Names a place in a resource; items of lists by a short name, where the resource is known. */
export const placeOf = (path: string, whole: Whole | undefined): string => {
  let [before, after]: readonly [unknown, unknown] = [whole?.from, whole?.to]
  const parts = namesOf(path).map((name) => {
    const isItem = Array.isArray(after) || Array.isArray(before)
    ;[before, after] = [memberOf(before, name), memberOf(after, name)]
    return isItem ? labelOf({ id: name, ...((after ?? before) as Item | undefined) }) : name
  })
  return parts.length === 0 ? words.whole : words.path(parts)
}

/** Text of a value: JSON, indented where it has members. */
export const valueText = (value: unknown): string => JSON.stringify(value, null, 2)

/** Line of a resource that is equal on both sides. */
type Line = { readonly path: string; readonly value: unknown }

const entriesOf = (value: unknown): readonly (readonly [string, unknown])[] | undefined => {
  if (typeof value !== 'object' || value === null) return undefined
  const found = Array.isArray(value)
    ? value.map((item: Item | null, n): readonly [string, unknown] => {
        const id = item?.id
        return [typeof id === 'string' ? id : String(n), item]
      })
    : Object.entries(value)
  return found.length === 0 ? undefined : found
}

const escaped = (name: string): string => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`

/** Values of a resource that no change covers. */
export const unchangedLines = (value: unknown, changed: ReadonlySet<string>, path = ''): readonly Line[] => {
  if (changed.has(path)) return []
  const members = entriesOf(value)
  return members
    ? members.flatMap(([name, member]) => unchangedLines(member, changed, path + escaped(name)))
    : [{ path, value }]
}

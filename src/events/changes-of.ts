import type { TObject } from 'typebox'
import { catalog } from './catalog.ts'
import { changeFields } from './change.ts'
import type { Shapes } from './define.ts'
import { eventOf, type Recorded } from './summary.ts'

type Data = Readonly<Record<string, unknown>>
type Pair = { readonly from?: unknown; readonly to?: unknown }
/** A changed value of the resource. A side without a value is absent. */
type FieldChange = Pair & { readonly path: string }

/** JSON Pointer (RFC 6901). Items of a list are named by their ids. */
export const pointer = (...names: readonly unknown[]): string =>
  names.map((name) => `/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

const changeAt = (path: string, value: unknown): FieldChange => {
  const pair = value as Pair
  return {
    path,
    ...(Object.hasOwn(pair, 'from') && { from: pair.from }),
    ...(Object.hasOwn(pair, 'to') && { to: pair.to }),
  }
}

/** Changes of the fields of a resource or of a part, in the order of the schema. */
const fieldChanges = (schema: TObject, path: string, data: Data): readonly FieldChange[] =>
  changeFields(schema)
    .filter((name) => Object.hasOwn(data, name))
    .map((name) => changeAt(path + pointer(name), data[name]))

/** Events of parts: the field with the part or its id, and the effect. */
const PART_EVENT = /^(Variant|Rule|Distribution|Rollout|Constraint)s?(Added|Updated|Removed|Reordered)$/

/** Path of the list with the parts of a kind. Distributions are below their rule. */
const listPath = (kind: string, { rule }: Data): string =>
  kind === 'distribution' ? pointer('rules', rule, 'distributions') : `/${kind}s`

const partChanges = (schema: TObject, list: string, effect: string, part: unknown): readonly FieldChange[] => {
  if (effect === 'Removed') return [{ path: list + pointer(part) }]
  const path = list + pointer((part as Data)['id'])
  return effect === 'Added' ? [{ path, to: part }] : fieldChanges(schema, path, part as Data)
}

/** Changes of an event of a part: the part, its distributions that were removed with it, and the ranks that moved. */
const changesOfPart = (schema: TObject, data: Data, kind: string, effect: string): readonly FieldChange[] => {
  const list = listPath(kind, data)
  return Object.entries(schema.properties).flatMap(([name, part]): readonly FieldChange[] => {
    const value = data[name]
    if (name === kind) return partChanges(part as TObject, list, effect, value)
    if (name === 'moved')
      return (value as readonly Data[]).map((move) => changeAt(list + pointer(move['id'], 'rank'), move))
    if (name === 'distributions')
      return (value as readonly Data[]).map(({ rule, distribution }) => ({
        path: pointer('rules', rule, 'distributions', distribution),
      }))
    return []
  })
}

/** Paths of the events that are themselves one change. */
const WHOLE: ReadonlyMap<string, string> = new Map([
  ['TokenExpiryChanged', '/expiresAt'],
  ['TokenGrantsNarrowed', '/grants'],
])

/** Changes of a record, in the order of the schema; empty for other events. It never throws. */
export const changesOf = (recorded: Recorded): readonly FieldChange[] => {
  const event = eventOf(recorded)
  if (!event) return []
  const { schema } = (catalog as Readonly<Record<string, Shapes>>)[recorded.category]![event.type]!
  const data = event.data as Data
  const path = WHOLE.get(event.type)
  if (path !== undefined) return [changeAt(path, data)]
  const [, kind, effect] = PART_EVENT.exec(event.type) ?? []
  if (kind !== undefined && effect !== undefined) return changesOfPart(schema, data, kind.toLowerCase(), effect)
  return fieldChanges(schema, '', data)
}

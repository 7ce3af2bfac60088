import { catalog } from '../events/catalog.ts'
import { namedShapes, type Shape, type Shapes, v1 } from '../events/define.ts'
import { metaSchema } from '../events/meta.ts'
import type { Sealer } from '../events/personal.ts'
import type { IndexedEvent } from '../verifier/export/event-fields.ts'

/** A sealed field of data or envelope. `isJson`: its text is JSON. */
type SealedField = { readonly name: string; readonly isJson: boolean }

/** State of a sealed field. A text that is JSON by its schema is opened to its value. */
type OpenedField =
  | { readonly status: 'open'; readonly value: unknown }
  | { readonly status: 'erased' }
  | { readonly status: 'lost' }

/** Sealed fields of an event by JSON Pointer. */
export type OpenedFields = Readonly<Record<string, OpenedField>>

/** Opens the sealed fields of an event. */
export type OpenEvent = (event: IndexedEvent) => Promise<OpenedFields>

const sealedFieldsOf = ({ sealed, schema }: Pick<Shape, 'sealed' | 'schema'>): readonly SealedField[] =>
  [...sealed.keys()].map((name) => {
    const { unit = '' } = schema.properties[name] as { readonly unit?: string }
    return { name, isJson: unit.startsWith('JSON') }
  })

/** Sealed fields of the data, by category and wire name. */
const DATA: ReadonlyMap<string, readonly SealedField[]> = new Map(
  Object.entries<Shapes>(catalog).flatMap(([category, shapes]) =>
    namedShapes(shapes).map(([wire, shape]) => [`${category} ${wire}`, sealedFieldsOf(shape)] as const),
  ),
)
const META = sealedFieldsOf(v1(metaSchema))

type Members = Readonly<Record<string, unknown>>

const valueOf = (text: string, isJson: boolean): unknown => {
  if (!isJson) return text
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

/**
 * Returns a function that opens the sealed fields of an event: those that the schema of the event marks and the event
 * has. An opened value is returned only; it is not kept. Rejects with `backend_unavailable` if the keys are unavailable.
 */
export const eventOpener =
  ({ open }: Pick<Sealer, 'open'>): OpenEvent =>
  async ({ record, fields }) => {
    const found: Record<string, OpenedField> = {}
    const { category, data, meta } = fields
    const parts: readonly (readonly [string, Members | undefined, readonly SealedField[]])[] = [
      ['data', data, DATA.get(`${category} ${record.type}`) ?? []],
      ['meta', meta, META],
    ]
    for (const [part, members, fields] of parts)
      for (const { name, isJson } of fields) {
        const stored = members?.[name]
        if (typeof stored !== 'string') continue
        const opened = await open(stored)
        found[`/${part}/${name}`] =
          'text' in opened
            ? { status: 'open', value: valueOf(opened.text, isJson) }
            : { status: 'erased' in opened ? 'erased' : 'lost' }
      }
    return found
  }

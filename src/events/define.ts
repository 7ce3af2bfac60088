import type { Static, TObject } from 'typebox'
import type { About } from './fields.ts'
import { fitting } from './fits.ts'

/** One shape an event has had. The newest shape of a type is the one the code speaks. */
export type Shape = {
  readonly version: number
  readonly schema: TObject
  /** The format of the history that has it first: an instance that reads that format, or a later one, reads this shape. */
  readonly format: number
  /** Wire name under which this shape was written before; it is still read. */
  readonly formerly?: string
  readonly from?: Shape
  readonly upcast?: (old: never) => object
  /** The same told in the shape before, for who reads no later format; undefined where that shape cannot say it. */
  readonly downcast?: ((data: never) => object | undefined) | undefined
  /** True of data that the shape before says in full: they are written in it in every format, for whoever reads no later one. */
  readonly asBefore?: ((data: never) => boolean) | undefined
}
export type Shapes = Readonly<Record<string, Shape>>

/** The format of the history that every version reads. */
export const FIRST_FORMAT = 1

/** The first shape of an event. */
export const v1 = <S extends TObject>(schema: S, format: number = FIRST_FORMAT) =>
  ({ version: 1, schema, format }) as const

/** The same shape under a new name: events of the former wire name are still read. */
export const renamed = <S extends Shape>(formerly: string, shape: S) => ({ ...shape, formerly }) as const

/** A later shape: the shape it replaces, the new schema, the pure function from old data to new data, and the format that has it first; with the way back where the old shape can say the same, and of which data it says all there is. */
export const next = <S extends TObject, P extends Shape & { schema: TObject }>(
  from: P,
  schema: S,
  upcast: (old: Static<P['schema']>) => Static<S>,
  {
    format,
    downcast,
    asBefore,
  }: {
    readonly format: number
    readonly downcast?: (data: Static<S>) => Static<P['schema']> | undefined
    readonly asBefore?: (data: Static<S>) => boolean
  },
) => ({ version: from.version + 1, schema, format, from, upcast, downcast, asBefore }) as const

/** The union that a category's code speaks: `{ type, data }` for each of its events. */
export type EventOf<S extends Shapes> = {
  [K in keyof S & string]: { readonly type: K; readonly data: Readonly<Static<S[K]['schema']>> }
}[keyof S & string]
export type AnyEvent = { readonly type: string; readonly data: object }
export type DataOf<E extends AnyEvent, T> = Extract<E, { type: T }>['data']

/** A decided event as it is written: the shape, its data, and the event as it will be read. */
export type Written<E extends AnyEvent = AnyEvent> = {
  readonly shape: Shape
  readonly data: object
  readonly event: E
}

/** The event in the newest shape that readers of the format know, or an older one that says as much; undefined where none of these can say it. */
export const inFormat = <E extends AnyEvent>(shapes: Shapes, format: number, event: E): Written<E> | undefined => {
  const newest = shapes[event.type]!
  let [shape, data]: [Shape, object] = [newest, event.data]
  const back: ((old: never) => object)[] = []
  while (shape.format > format || shape.asBefore?.(data as never)) {
    const { from, upcast, downcast } = shape
    const older = downcast?.(data as never)
    if (!from || !upcast || !older) return undefined
    back.push(upcast)
    ;[shape, data] = [from, older]
  }
  if (shape === newest) return { shape, data, event }
  return { shape, data, event: { ...event, data: back.reduceRight((old, raise) => raise(old as never), data) } }
}

/** Wire name: `TokenIssued` at version 1, `TokenIssued.v2` from version 2 on. */
export const wireName = (type: string, version: number): string => (version === 1 ? type : `${type}.v${version}`)

/** All names under which a shape is read: its wire name, and the one it had before. */
export const wireNames = (type: string, { version, formerly }: Shape): readonly string[] => [
  wireName(type, version),
  ...(formerly === undefined ? [] : [formerly]),
]

/** The event type that a wire name belongs to, in any version. */
export const typeName = (wire: string): string => wire.replace(/\.v\d+$/, '')

const jsonOf = (wire: string, json: string): unknown => {
  try {
    return JSON.parse(json)
  } catch {
    // What the parser says quotes the data.
    throw new Error(`the data of ${wire} are not JSON`)
  }
}

/**
 * Reads the events of a category: a wire name ever written and its JSON text give the newest shape. An unknown name
 * throws, and so do data of another shape, for to skip them would lose history. What is thrown never quotes the data.
 */
export const reader = <S extends Shapes>(shapes: S): ((wire: string, json: string) => EventOf<S>) => {
  const lift = new Map<string, (data: unknown) => EventOf<S>>()
  for (const [type, newest] of Object.entries(shapes)) {
    let toNewest: (data: object) => object = (data) => data
    for (let shape: Shape | undefined = newest; shape; shape = shape.from) {
      const [raise, fits] = [toNewest, fitting(shape.schema)]
      for (const wire of wireNames(type, shape))
        lift.set(wire, (data) => {
          if (!fits(data)) throw new Error(`the data of ${wire} are not of its shape`)
          return { type, data: raise(data as object) } as EventOf<S>
        })
      const { upcast } = shape
      if (upcast) toNewest = (data) => raise(upcast(data as never))
    }
  }
  return (wire, json) => {
    const raise = lift.get(wire)
    if (!raise) throw new Error(`event ${wire} was written by a newer version of rollcall`)
    return raise(jsonOf(wire, json))
  }
}

/**
 * The fields of a schema that are sealed before they are appended: field name → name of the field that holds their
 * subject. Top-level fields only.
 */
export const sealedFields = (schema: TObject): ReadonlyMap<string, string> => {
  const fields = new Map<string, string>()
  for (const [name, field] of Object.entries<Partial<About>>(schema.properties)) {
    if (typeof field.personal === 'object') fields.set(name, field.personal.sealedFor)
  }
  return fields
}

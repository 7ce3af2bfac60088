import type { Static, TObject, TSchema } from 'typebox'
import type { About } from './fields.ts'

type Fits = (value: unknown) => boolean
type Members = Readonly<Record<string, TSchema>>
/** Subset of JSON Schema that event schemas use. */
type Form = {
  readonly type?: 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object'
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly TSchema[]
  readonly items?: TSchema
  readonly required?: readonly string[]
  readonly properties?: Members
  readonly patternProperties?: Members
}

const always: Fits = () => true
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const object = ({ required = [], properties = {}, patternProperties = {} }: Form): Fits => {
  const needed = new Set(required)
  const members = Object.entries(properties).map(([name, schema]) => [name, fitting(schema), needed.has(name)] as const)
  const [every = always] = Object.values(patternProperties).map(fitting)
  return (value) => {
    if (!isObject(value)) return false
    for (const [name, fits, must] of members) if (Object.hasOwn(value, name) ? !fits(value[name]) : must) return false
    if (every !== always) for (const name in value) if (!every(value[name])) return false
    return true
  }
}

/**
 * Returns a test whether a JSON value conforms to an event schema. Fields that the schema does not know are allowed.
 */
export const fitting = (schema: TSchema): Fits => {
  const form = schema as Form
  if (form.anyOf) {
    const alternatives = form.anyOf.map(fitting)
    return (value) => alternatives.some((fits) => fits(value))
  }
  if (form.enum) return (value) => form.enum!.includes(value)
  if (form.const !== undefined) return (value) => value === form.const
  if (form.type === 'object') return object(form)
  if (form.type === 'integer') return Number.isInteger
  if (form.type === 'array') {
    const item = form.items ? fitting(form.items) : always
    return (value) => Array.isArray(value) && value.every(item)
  }
  const { type } = form
  return type === undefined ? always : (value) => typeof value === type
}

/** One version of an event's shape. The code works with the newest version of a type. */
export type Shape = {
  readonly version: number
  readonly schema: TObject
  /**
   * Fields that are sealed before the append: field name → name of the field with the subject. Top-level fields only.
   */
  readonly sealed: ReadonlyMap<string, string>
  /**
   * First format of the history that contains this shape. Instances that read this format or a later one read the
   * shape.
   */
  readonly format: number
  /** Former wire name of this shape. Events with this name can still be read. */
  readonly formerly?: string
  readonly from?: Shape
  readonly upcast?: (old: never) => object
  /**
   * Converts data to the previous shape, for instances that read only earlier formats; undefined if that loses
   * information.
   */
  readonly downcast?: ((data: never) => object | undefined) | undefined
  /**
   * Returns true if the previous shape can contain the data completely. These data are always written in the previous
   * shape.
   */
  readonly asBefore?: ((data: never) => boolean) | undefined
}
export type Shapes = Readonly<Record<string, Shape>>

/** Format that every version reads. */
export const FIRST_FORMAT = 1

const sealedFields = (schema: TObject): ReadonlyMap<string, string> => {
  const fields = new Map<string, string>()
  for (const [name, field] of Object.entries<Partial<About>>(schema.properties)) {
    if (typeof field.personal === 'object') fields.set(name, field.personal.sealedFor)
  }
  return fields
}

/** First version of an event's shape. */
export const v1 = <S extends TObject>(schema: S, format: number = FIRST_FORMAT) =>
  ({ version: 1, schema, sealed: sealedFields(schema), format }) as const

/** Gives a shape a new wire name. Events with the former name are still read. */
export const renamed = <S extends Shape>(formerly: string, shape: S) => ({ ...shape, formerly }) as const

/**
 * A later version of a shape. `upcast` converts old data to new data. `downcast` and `asBefore` are described at
 * `Shape`.
 */
export const next = <S extends TObject, P extends Shape & { schema: TObject }>(
  from: P,
  schema: S,
  upcast: (old: Static<P['schema']>) => Static<S>,
  more: {
    readonly format: number
    readonly downcast?: (data: Static<S>) => Static<P['schema']> | undefined
    readonly asBefore?: (data: Static<S>) => boolean
  },
) => ({ version: from.version + 1, schema, sealed: sealedFields(schema), from, upcast, ...more }) as const

/** Union of a category's events: `{ type, data }`. */
export type EventOf<S extends Shapes> = {
  [K in keyof S & string]: { readonly type: K; readonly data: Readonly<Static<S[K]['schema']>> }
}[keyof S & string]
export type AnyEvent = { readonly type: string; readonly data: object }
export type DataOf<E extends AnyEvent, T> = Extract<E, { type: T }>['data']

/** A decided event in the form to write: shape, data, and the event as readers will see it. */
export type Written<E extends AnyEvent = AnyEvent> = {
  readonly shape: Shape
  readonly data: object
  readonly event: E
}

/**
 * Converts the event to the newest shape that belongs to the format, or to an older shape that can contain its data
 * completely; undefined if no shape is possible.
 */
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

/** Wire name: `TokenIssued` for version 1, `TokenIssued.v2` from version 2 on. */
export const wireName = (type: string, version: number): string => (version === 1 ? type : `${type}.v${version}`)

/** Wire names under which a shape is read: its present name and, if it was renamed, the former one. */
export const wireNames = (type: string, { version, formerly }: Shape): readonly string[] => [
  wireName(type, version),
  ...(formerly === undefined ? [] : [formerly]),
]

/** All shapes of a category, former ones included, each with the names under which it is read; the newest first. */
export const namedShapes = (shapes: Shapes): readonly (readonly [wire: string, shape: Shape])[] =>
  Object.entries(shapes).flatMap(([type, newest]) => {
    const all: (readonly [string, Shape])[] = []
    for (let shape: Shape | undefined = newest; shape; shape = shape.from)
      for (const wire of wireNames(type, shape)) all.push([wire, shape])
    return all
  })

/** Event type of a wire name, without its version. */
export const typeName = (wire: string): string => wire.replace(/\.v\d+$/, '')

const jsonOf = (wire: string, json: string): unknown => {
  try {
    return JSON.parse(json)
  } catch {
    // The message of the parser quotes the data.
    throw new Error(`the data of an event ${wire} are not JSON`)
  }
}

type Lift<E> = (data: unknown) => E | undefined

/**
 * Converters of a category's JSON data to the newest shape, by wire name. A converter returns undefined if the data do
 * not match its shape.
 */
export const lifts = <S extends Shapes>(shapes: S): ReadonlyMap<string, Lift<EventOf<S>>> => {
  const lift = new Map<string, Lift<EventOf<S>>>()
  for (const [type, newest] of Object.entries(shapes)) {
    let toNewest: (data: object) => object = (data) => data
    for (let shape: Shape | undefined = newest; shape; shape = shape.from) {
      const [raise, fits] = [toNewest, fitting(shape.schema)]
      for (const wire of wireNames(type, shape))
        lift.set(wire, (data) => (fits(data) ? ({ type, data: raise(data as object) } as EventOf<S>) : undefined))
      const { upcast } = shape
      if (upcast) toNewest = (data) => raise(upcast(data as never))
    }
  }
  return lift
}

/**
 * Reader for the events of a category. Converts a wire name and its JSON text to the newest shape. Throws on an unknown
 * name or on data of another shape, because skipping an event would lose history. Error messages never quote the data
 * of an event.
 */
export const reader = <S extends Shapes>(shapes: S): ((wire: string, json: string) => EventOf<S>) => {
  const lift = lifts(shapes)
  return (wire, json) => {
    const raise = lift.get(wire)
    if (!raise) throw new Error(`event ${wire} was written by a newer version of rollcall`)
    const event = raise(jsonOf(wire, json))
    if (!event) throw new Error(`the data of an event ${wire} do not have the form of that event`)
    return event
  }
}

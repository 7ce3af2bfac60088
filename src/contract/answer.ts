import { type Static, type TProperties, type TSchema, Type } from 'typebox'

type Frozen<T> = T extends readonly (infer I)[]
  ? readonly Frozen<I>[]
  : T extends object
    ? { readonly [K in keyof T]: Frozen<T[K]> }
    : T

/** What an answer of this schema holds. */
export type Shown<S extends TSchema> = Frozen<Static<S>>

/** An object that the OpenAPI document describes once, under this name. */
export const named = <P extends TProperties>(name: string, properties: P) => Type.Object(properties, { $id: name })

export const Text = Type.String()
export const Texts = Type.Array(Text)
export const Id = Type.String({ format: 'uuid' })
export const Instant = Type.String({ format: 'date-time' })
export const Int32 = Type.Integer({ format: 'int32' })
export const Float32 = Type.Number({ format: 'float' })

/** A map from text to text. */
export const TextMap = Type.Unsafe<Record<string, string>>(Type.Object({}, { additionalProperties: Text }))
/** Any JSON object. */
export const AnyObject = Type.Unsafe<Record<string, unknown>>(Type.Object({}, { additionalProperties: true }))

/** When a resource was made and last changed. */
export const times = { createdAt: Instant, updatedAt: Instant }

/** Who acted, as the history has it; `name` is that of a static token. */
export const Actor = named('Actor', {
  kind: Text,
  id: Type.Optional(Id),
  method: Type.Optional(Text),
  user: Type.Optional(Text),
  host: Type.Optional(Text),
  name: Type.Optional(Text),
})
/** When something or any part of it was last changed, and by whom. */
export const changedFields = { changedAt: Type.Optional(Instant), changedBy: Type.Optional(Actor) }

/** What a list tells of its page: where the next one begins (`""`: nowhere), and the number of all items. */
export const pageFields = { nextPageToken: Text, totalCount: Type.Integer() }

/** The answer of a request that leaves nothing to show. */
export const Nothing = Type.Object({})

import { type Static, type TProperties, type TSchema, Type } from 'typebox'
import { type Reason, refusals } from '../base/errors.ts'

type Frozen<T> = T extends readonly (infer I)[]
  ? readonly Frozen<I>[]
  : T extends object
    ? { readonly [K in keyof T]: Frozen<T[K]> }
    : T

/** TypeScript type of an answer with this schema. */
export type Shown<S extends TSchema> = Frozen<Static<S>>

/** Object schema that the OpenAPI document describes once, under this name. */
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

/** Times of creation and last change of a resource. */
export const times = { createdAt: Instant, updatedAt: Instant }

/** Actor in the history. `name` is that of a static token. */
export const Actor = named('Actor', {
  kind: Text,
  id: Type.Optional(Id),
  method: Type.Optional(Text),
  user: Type.Optional(Text),
  host: Type.Optional(Text),
  name: Type.Optional(Text),
})
/** Time and actor of the last change of a resource or any part of it. */
export const changedFields = { changedAt: Type.Optional(Instant), changedBy: Type.Optional(Actor) }

/** Pagination: token of the next page (`""`: none), and the number of all items. */
export const pageFields = { nextPageToken: Text, totalCount: Type.Integer() }

/** Empty answer. */
export const Nothing = Type.Object({})

const structOf = <S extends TSchema>(value: S) =>
  Type.Object({ '@type': Type.Literal('type.googleapis.com/google.protobuf.Struct'), value })
const errorInfo = { domain: Type.Literal('rollcall'), metadata: TextMap }

/** An error: google.rpc.Status with exactly one detail (api.md §2.1). */
export const ErrorAnswer = named('Error', {
  code: Type.Integer({ description: 'gRPC status code' }),
  message: Text,
  details: Type.Array(
    structOf(
      Type.Object({
        reason: Type.Enum(Object.keys(refusals) as Reason[]),
        ...errorInfo,
        fieldViolations: Type.Optional(Type.Array(Type.Object({ field: Text, description: Text }))),
      }),
    ),
    { minItems: 1, maxItems: 1 },
  ),
})
export type ErrorAnswer = Shown<typeof ErrorAnswer>

/** Detail that replaces the secret when the same request is answered again (api.md §4). */
export const SecretShown = structOf(Type.Object({ reason: Type.Literal('secret_already_shown'), ...errorInfo }))
export type SecretShown = Shown<typeof SecretShown>

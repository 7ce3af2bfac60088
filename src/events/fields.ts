import { type TProperties, type TSchema, Type } from 'typebox'

/**
 * Kind of personal data in a field. `none`: no personal data. `pseudonym`: a keyed name of a person. `operator's text`:
 * text of operators and their programs, stored unchanged, which may refer to people. Sealed: personal data, encrypted
 * with the key of the subject in another field of the event.
 */
type Personal = 'none' | 'pseudonym' | "operator's text" | { readonly sealedFor: string }

/** Documentation of a field in addition to its type. Booleans and enums need no unit. */
export type About = { readonly description: string; readonly unit?: string; readonly personal: Personal }

const none = 'none'
const written = "operator's text"

/** An identifier that the service created. */
export const uuid = (description: string) => Type.String({ description, unit: 'UUID', personal: none })
export const time = (description: string) =>
  Type.String({ description, unit: 'RFC 3339 UTC with milliseconds', personal: none })
/** A text of the service itself: a reason, a route, or an id with its own form. */
export const word = (description: string, unit: string) => Type.String({ description, unit, personal: none })
/** An enum. */
export const oneOf = <const W extends string[]>(description: string, words: readonly [...W]) =>
  Type.Enum(words, { description, personal: none })
export const key = (description: string) => Type.String({ description, unit: 'key', personal: written })
/** Free text of an operator. */
export const text = (description: string, unit = 'text') => Type.String({ description, unit, personal: written })
export const texts = (description: string) =>
  Type.Record(Type.String(), Type.String(), { description, unit: 'text by key', personal: written })
/** JSON object of an operator. */
export const json = (description: string) =>
  Type.Record(Type.String(), Type.Unknown(), { description, unit: 'JSON object', personal: written })
export const pseudonym = (description: string, unit: string) =>
  Type.String({ description, unit, personal: 'pseudonym' })
/** Personal data of the subject in the field `subject` of the same event. */
export const sealed = (description: string, unit: string, subject: string) =>
  Type.String({ description, unit, personal: { sealedFor: subject } })
export const truth = (description: string) => Type.Boolean({ description, personal: none })
export const count = (description: string) => Type.Integer({ description, unit: 'count', personal: none })
/** Counts by a text. */
export const counts = (description: string, by: string) =>
  Type.Record(Type.String(), Type.Integer(), { description, unit: `count by ${by}`, personal: none })
/** Revision of another event: the number of events before it in its stream. */
export const revision = (description: string, stream: string) =>
  Type.Integer({ description, unit: `revision in \`${stream}\``, personal: none })
export const rank = (description: string) => Type.Integer({ description, unit: 'rank, from 1', personal: none })
export const percent = (description: string) => Type.Number({ description, unit: 'percent, float32', personal: none })

/** Data of an event, or a nested object. */
export const object = <P extends TProperties>(description: string, fields: P) => Type.Object(fields, { description })
export const list = <S extends TSchema>(description: string, item: S) => Type.Array(item, { description })

const name = 'name of a right, or `*` for all rights'
const right = word('A right.', name)

/** Grants of a token, in the order in which they were given. */
export const grants = (description: string) =>
  Type.Immutable(
    list(
      description,
      object('A role or a list of rights, in one namespace or in all namespaces.', {
        place: key('Key of the namespace, or `*` for all namespaces and the deployment itself.'),
        role: Type.Optional(word('The role; absent if the grant is a list of rights.', 'name of a role')),
        rights: Type.Optional(Type.Immutable(list('The rights, if the grant has no role.', right))),
        rule: Type.Optional(word('The access rule that gave the grant to a login or an exchange.', 'name of a rule')),
      }),
    ),
  )

/** Rights of each role, by name of the role. */
export const meanings = (description: string) =>
  Type.Record(Type.String(), Type.Immutable(Type.Array(right)), {
    description,
    unit: 'names of rights by name of a role; `*` for all rights',
    personal: 'none',
  })

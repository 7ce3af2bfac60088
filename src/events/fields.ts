import { type TProperties, type TSchema, Type } from 'typebox'

/**
 * What a field says of people. `none`: nothing. `pseudonym`: a keyed name that stands for a person. `operator's text`: what operators and
 * their programs wrote, kept as it is, which may speak of anybody. Sealed: personal data of the subject that another field of the same
 * event names, encrypted with its key before it is appended.
 */
export type Personal = 'none' | 'pseudonym' | "operator's text" | { readonly sealedFor: string }

/** What is told of a field beside its type; truths and words of a list need no unit. */
export type About = { readonly description: string; readonly unit?: string; readonly personal: Personal }

const none = 'none'
const written = "operator's text"

/** An identifier that the service made. */
export const uuid = (description: string) => Type.String({ description, unit: 'UUID', personal: none })
export const time = (description: string) =>
  Type.String({ description, unit: 'RFC 3339 UTC with milliseconds', personal: none })
/** A word of the service's own: a reason, a route, an id in a form of its own. */
export const word = (description: string, unit: string) => Type.String({ description, unit, personal: none })
/** One of a few words. */
export const oneOf = <const W extends string[]>(description: string, words: readonly [...W]) =>
  Type.Enum(words, { description, personal: none })
export const key = (description: string) => Type.String({ description, unit: 'key', personal: written })
/** What an operator wrote, in whatever form. */
export const text = (description: string, unit = 'text') => Type.String({ description, unit, personal: written })
export const texts = (description: string) =>
  Type.Record(Type.String(), Type.String(), { description, unit: 'text by key', personal: written })
/** A JSON object as an operator wrote it. */
export const json = (description: string) =>
  Type.Record(Type.String(), Type.Unknown(), { description, unit: 'JSON object', personal: written })
export const pseudonym = (description: string, unit: string) =>
  Type.String({ description, unit, personal: 'pseudonym' })
/** Personal data of the subject that the field `subject` of the same event names. */
export const sealed = (description: string, unit: string, subject: string) =>
  Type.String({ description, unit, personal: { sealedFor: subject } })
export const truth = (description: string) => Type.Boolean({ description, personal: none })
export const count = (description: string) => Type.Integer({ description, unit: 'count', personal: none })
/** How many of each, by a word. */
export const counts = (description: string, by: string) =>
  Type.Record(Type.String(), Type.Integer(), { description, unit: `count by ${by}`, personal: none })
/** How many events of its stream stand before an event. */
export const revision = (description: string, stream: string) =>
  Type.Integer({ description, unit: `revision in \`${stream}\``, personal: none })
export const rank = (description: string) =>
  Type.Integer({ description, unit: 'place in an order, from 1', personal: none })
export const percent = (description: string) => Type.Number({ description, unit: 'percent, float32', personal: none })

/** The data of an event, or a part of it that has fields of its own. */
export const object = <P extends TProperties>(description: string, fields: P) => Type.Object(fields, { description })
export const list = <S extends TSchema>(description: string, item: S) => Type.Array(item, { description })

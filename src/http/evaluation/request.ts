import type { FastifyRequest } from 'fastify'
import { randomUUID } from 'node:crypto'
import { Type } from 'typebox'
import { invalid } from '../../errors.ts'
import type { Moment } from '../../audit/as-of.ts'
import type { Compiled } from '../../evaluation/compile.ts'
import { type Context, contextOf } from '../../evaluation/context.ts'
import type { Flags } from './evaluator.ts'
import { flag, text } from '../../contract/fields.ts'
import { atOf } from '../wire/headers.ts'
import { input, member, query } from '../../contract/input.ts'
import type { Service } from '../service.ts'
import { fitsBytes, objectOf, type Raw } from '../../contract/value.ts'
import type { Field } from '../../contract/field.ts'

/** Bytes in UTF-8 that the entity's id, and each value of its context, may have. */
export const MOST_VALUE_BYTES = 65_536

/** Members that the context of an entity may have. */
export const MOST_CONTEXT_MEMBERS = 1000

/** Text that is not kept: anything goes. */
export const unstoredText = text({ stored: false })
/** Id of the entity asked about. */
export const entityId = text({ stored: false, maxBytes: MOST_VALUE_BYTES })

/** The members of a JSON object as text; refuses too many, and a value that is too long. */
export const contextGiven = (raw: Raw, name: string): Context => {
  let members = 0
  for (const _ in raw)
    if (++members > MOST_CONTEXT_MEMBERS) invalid(name, `must have at most ${MOST_CONTEXT_MEMBERS} members`)
  const context = contextOf(raw)
  for (const key in context) {
    if (!fitsBytes(context[key]!, MOST_VALUE_BYTES))
      invalid(`${name}.${key}`, `must be at most ${MOST_VALUE_BYTES} bytes`)
  }
  return context
}

/** What is known of the entity: any JSON object, its values as text (api.md §10); absent is `{}`. */
export const context: Field<Context> = {
  schema: Type.Record(Type.String(), Type.String(), { maxProperties: MOST_CONTEXT_MEMBERS }),
  optional: true,
  read: (value, name) => (value === undefined || value === null ? {} : contextGiven(objectOf(value, name), name)),
}

/** Most evaluations in one request. */
export const MOST_REQUESTS = 1000

/** Body of one evaluation (api.md §8.1). */
export const evaluationBody = input({
  requestId: unstoredText,
  namespaceKey: unstoredText,
  flagKey: unstoredText,
  entityId,
  context,
})

/** The instant or position asked about; absent is the present. */
const at: Field<Moment | undefined> = {
  schema: Type.String(),
  optional: true,
  read: (value, name) => atOf(unstoredText.read(value, name)),
}
export const atQuery = query({ at })
export const explainQuery = query({ explain: flag(), at })

/** The namespace that a key means: `""` is `default`. */
export const namespaceOrDefault = (namespaceKey: string): string => namespaceKey || 'default'

/** A text member of a body before its field rules; its reader has refused one that is no text. */
const textIn = (raw: Raw, name: string, other: string): string => {
  const value = member(raw, name, other)
  return typeof value === 'string' ? value : ''
}

/** The namespace key that a body names. */
export const namespaceIn = (raw: Raw): string => textIn(raw, 'namespaceKey', 'namespace_key')

/** The evaluations within a body. */
export const requestsIn = (raw: Raw): readonly Raw[] => {
  const given = member(raw, 'requests')
  return Array.isArray(given) ? given.map((one: Raw | null) => one ?? {}) : []
}

/** The namespace that the body of one evaluation asks in (api.md §3.3). */
export const namespaceAsked = (body: Raw): readonly string[] => [namespaceOrDefault(namespaceIn(body))]

/** The evaluation's id as JSON: the client's, else a new UUID, which is the request's own where that is new too. */
export const requestIdJson = (given: string, { id, headers }: FastifyRequest): string =>
  given ? JSON.stringify(given) : `"${headers['x-request-id'] === id ? randomUUID() : id}"`

/** Answers from the flags of the present, or from those of the moment that `at` names: of these, only the ones asked for are made. */
export const withFlags = <T>(
  { flagStore, asOf }: Service,
  moment: Moment | undefined,
  wanted: () => Iterable<readonly [namespace: string, key: string]>,
  answer: (flags: Flags) => T | Promise<T>,
): T | Promise<T> => {
  if (!moment) return answer(flagStore)
  return asOf(moment).then(async ({ compiled }) => {
    const known = new Map<string, Compiled | undefined>()
    for (const [namespace, key] of wanted()) known.set(`${namespace}/${key}`, await compiled(namespace, key))
    return answer({ compiled: (namespace, key) => known.get(`${namespace}/${key}`) })
  })
}

import type { FastifyRequest } from 'fastify'
import { randomUUID } from 'node:crypto'
import { Type } from 'typebox'
import { type Context, contextOf } from '../evaluation/context.ts'
import { reaches } from './access.ts'
import { type Field, flag, text } from './fields.ts'
import { input, member, query } from './input.ts'
import { objectOf, type Raw } from './value.ts'

/** Text that is not kept: anything goes. */
export const unkept = text({ stored: false })

/** What is known of the entity: any JSON object, its values as text (api.md §10); absent is `{}`. */
export const context: Field<Context> = {
  schema: Type.Record(Type.String(), Type.String()),
  optional: true,
  read: (value, name) => (value === undefined || value === null ? {} : contextOf(objectOf(value, name))),
}

/** Body of one evaluation (api.md §8.1). */
export const asking = input({ requestId: unkept, namespaceKey: unkept, flagKey: unkept, entityId: unkept, context })

/** `at` is the instant or position asked about. */
export const atQuery = query({ at: unkept })
export const explainQuery = query({ explain: flag(), at: unkept })

/** The namespace that a key means: `""` is `default`. */
export const effective = (namespaceKey: string): string => namespaceKey || 'default'

/** The namespace that a body names, before its field rules; the reader of the body has refused one that is no text. */
export const namespaceIn = (raw: Raw): string => effective((member(raw, 'namespaceKey', 'namespace_key') ?? '') as string)

/** Refuses a namespaced token whose body names another namespace (api.md §3.3). */
export const reachedByBody = (raw: Raw, { caller }: FastifyRequest): void => {
  if (caller.namespace !== undefined) reaches(caller, namespaceIn(raw))
}

/** The evaluation's id as JSON: the client's, else a new UUID, which is the request's own where that is new too. */
export const requestIdJson = (given: string, { id, headers }: FastifyRequest): string =>
  given ? JSON.stringify(given) : `"${headers['x-request-id'] === id ? randomUUID() : id}"`

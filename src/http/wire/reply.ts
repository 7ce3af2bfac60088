import type { FastifyReply, FastifyRequest } from 'fastify'
import { named } from '../../contract/readers/input.ts'
import type { Kept, Packed } from './gzip.ts'
import { tagged } from './headers.ts'
import { parametersOf } from './path.ts'
import type { Chunks } from './stream.ts'

declare const holds: unique symbol
/** The JSON text of a value of this type. */
export type Json<T> = string & { readonly [holds]: T }

export const jsonOf = <T>(value: T): Json<T> => JSON.stringify(value) as Json<T>

/** What a route answers. `body` is sent as JSON, text as it is, undefined not at all; `etag` is the tag without quotes. Status is 200 unless stated. */
export type Answer<T = unknown> = {
  readonly status?: number
  readonly body: T | undefined
  /** The JSON text of the answer, in place of `body`, where the route has it already. */
  readonly json?: Json<T>
  /**
   * The bytes of the answer, in place of `body`, made as the client takes them. `length` is their number, where known.
   * The request ends with them.
   */
  readonly chunks?: Chunks
  readonly length?: number
  /** Bytes that are held until the last chunk is sent, beside the chunk under way; `shared`: none that other answers do not hold too. */
  readonly holds?: number | 'shared'
  /** Milliseconds within which the client must have taken the chunks; then the answer is cut. */
  readonly within?: number
  /** The bytes of the answer, in place of `body`, where the route keeps them. */
  readonly kept?: Kept
  /** The bytes of the answer, in place of `body`, where they were compressed before there was a request. */
  readonly packed?: Packed
  readonly etag?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Members of the body that are shown once and kept nowhere. */
  readonly secret?: Readonly<Record<string, string>>
}

/** The answer, with the revision of the resource that it shows, where there is one. */
export const revised = <T>(answer: Answer<T>, revision: bigint | undefined): Answer<T> =>
  revision === undefined ? answer : { ...answer, etag: String(revision) }

/** 200 with a body, and the revision of the resource it shows. */
export const ok = <T>(body: T, revision?: bigint, headers: Readonly<Record<string, string>> = {}): Answer<T> =>
  revised({ body, headers }, revision)

/** 200 with a body whose JSON text is there already. */
export const written = <T>(json: Json<T>, etag?: string): Answer<T> =>
  etag === undefined ? { body: undefined, json } : { body: undefined, json, etag }

/** 302 to another place. */
export const redirect = <T>(location: string, headers: Readonly<Record<string, string>> = {}, body?: T): Answer<T> => ({
  status: 302,
  body,
  headers: { ...headers, location },
})

/** The JSON text of an answer: indented by two spaces when the query asks for it. */
export const jsonText = (body: unknown, request: FastifyRequest): string =>
  named(parametersOf(request), 'pretty') ? JSON.stringify(body, null, 2) : JSON.stringify(body)

/** Keeps the framework from adding a charset to `application/json`. */
export const asIs = (text: unknown): string => text as string

/** Sets the headers that every answer has (api.md §1.2). */
export const everyAnswer = (request: FastifyRequest, reply: FastifyReply): void => {
  reply.header('x-request-id', request.id)
  reply.header('x-content-type-options', 'nosniff')
}

/** Whether the client has what the tag names. */
export const held = ({ headers }: FastifyRequest, etag: string): boolean => {
  const given = headers['if-none-match']
  return given !== undefined && tagged(given, etag)
}

import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Refusal } from '../../base/errors.ts'
import type { Chunks } from './stream.ts'

/** Bytes of a file, and of its precompressed variants. */
export type Packed = { readonly plain: Buffer; readonly br: Buffer | undefined; readonly gzip: Buffer | undefined }

/** A text that is sent repeatedly: its bytes, and its gzip, compressed on first use. */
export type Kept = { readonly plain: Buffer; readonly zipped: () => Promise<Buffer> }

declare const holds: unique symbol
/** JSON text of a value of this type. */
export type Json<T> = string & { readonly [holds]: T }

export const jsonOf = <T>(value: T): Json<T> => JSON.stringify(value) as Json<T>

/**
 * Answer of a route. `body` is sent as JSON, a text unchanged, undefined as no body. `etag` has no quotes; `status`
 * defaults to 200.
 */
export type Answer<T = unknown> = {
  readonly status?: number
  readonly body: T | undefined
  /** JSON text of the answer, instead of `body`, if the route already has it. */
  readonly json?: Json<T>
  /**
   * Bytes of the answer, instead of `body`, created as the client reads them. `length` is the number of bytes, if
   * known. The request ends after the last chunk.
   */
  readonly chunks?: Chunks
  readonly length?: number
  /**
   * Bytes in memory until the last chunk is sent, without the current chunk; `shared` if other answers use the same
   * bytes.
   */
  readonly holds?: number | 'shared'
  /** True for a live stream, which is not compressed, so that each chunk arrives at once. */
  readonly live?: boolean
  /** Takes the response after its headers are sent, instead of `body`, and writes to it until the stream ends. */
  readonly push?: (response: ServerResponse) => void
  /** Trailers of an answer of chunks without a length: names, and values after the last chunk. HTTP/1.0 gets none. */
  readonly trailers?: { readonly names: string; readonly values: () => Readonly<Record<string, string>> }
  /** Time (ms) in which the client must read all chunks; then the connection is cut. */
  readonly within?: number
  /** Bytes of the answer, instead of `body`, that the route keeps in memory. */
  readonly kept?: Kept
  /** Bytes of the answer, instead of `body`, precompressed. */
  readonly packed?: Packed
  readonly etag?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Fields of the body that are sent once and not stored. */
  readonly secret?: Readonly<Record<string, string>>
}

/**
 * Called for every sent answer (for a stream: at its end), with the refusal if there is one. A hook of the framework
 * would add two listeners to each request.
 */
export type Answered = (request: FastifyRequest, reply: FastifyReply, refusal?: Refusal) => void

/** Adds the revision of the resource to an answer, if there is one. */
export const revised = <T>(answer: Answer<T>, revision: bigint | undefined): Answer<T> =>
  revision === undefined ? answer : { ...answer, etag: String(revision) }

/** Answer with status 200, a body, and the revision of the resource in it. */
export const ok = <T>(body: T, revision?: bigint, headers: Readonly<Record<string, string>> = {}): Answer<T> =>
  revised({ body, headers }, revision)

/** Answer with status 200 and the JSON text of a body. */
export const written = <T>(json: Json<T>, etag?: string): Answer<T> =>
  etag === undefined ? { body: undefined, json } : { body: undefined, json, etag }

/** Header with a warning about the state after a write, if there is one. */
export const warned = (warning: string | undefined): Readonly<Record<string, string>> =>
  warning === undefined ? {} : { warning: `299 - "${warning}"` }

/** Headers of a stream or export, which no proxy may store, compress or buffer. */
export const streamHeaders = (type: string): Readonly<Record<string, string>> => ({
  'content-type': type,
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
})

/** Answer with a whole table as CSV. */
export const csvAnswer = <T>(text: string, headers: Readonly<Record<string, string>>): Answer<T> => {
  const bytes = Buffer.from(text)
  return { body: undefined, chunks: [bytes], length: bytes.length, holds: bytes.length, headers }
}

/** Answer with status 302 to a location. */
export const redirect = <T>(location: string, headers: Readonly<Record<string, string>> = {}, body?: T): Answer<T> => ({
  status: 302,
  body,
  headers: { ...headers, location },
})

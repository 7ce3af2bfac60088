import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Writable } from 'node:stream'
import type { Clock } from '../../clock.ts'
import { named } from '../../contract/input.ts'
import { gzipInto, type Kept, nameGzip, type Packed, sendGzip, sendPacked, takesGzip, zippedFast } from './gzip.ts'
import { tagged } from './headers.ts'
import { parametersOf, rawQuery } from './path.ts'
import { type Chunks, sendStream, type StreamTold } from './stream.ts'

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

const SMALL = 1024

/** The JSON text of an answer: indented by two spaces when the query asks for it. */
export const jsonText = (body: unknown, request: FastifyRequest): string =>
  named(parametersOf(request), 'pretty') ? JSON.stringify(body, null, 2) : JSON.stringify(body)

const writtenText = (json: string, request: FastifyRequest): string =>
  named(parametersOf(request), 'pretty') ? JSON.stringify(JSON.parse(json), null, 2) : json

/** Keeps the framework from adding a charset to `application/json`. */
export const asIs = (text: unknown): string => text as string

/** Sets the headers that every answer has (api.md §1.2). */
export const everyAnswer = (request: FastifyRequest, reply: FastifyReply): void => {
  reply.header('x-request-id', request.id)
  reply.header('x-content-type-options', 'nosniff')
}

/** Writes a small answer past what the framework does for streams, hooks and serializers. */
const sendNow = (request: FastifyRequest, reply: FastifyReply, json: string): void => {
  reply.hijack()
  const headers = {
    'x-request-id': request.id,
    'x-content-type-options': 'nosniff',
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(json),
  }
  reply.raw.writeHead(200, headers).end(json)
}

/** Whether the client has what the tag names. */
export const held = ({ headers }: FastifyRequest, etag: string): boolean => {
  const given = headers['if-none-match']
  return given !== undefined && tagged(given, etag)
}

/** And what cuts a stream that is not taken in time. */
type Told = StreamTold & Pick<Clock, 'after'>

/** Sets the headers that an answer brings. */
const setHeaders = (request: FastifyRequest, reply: FastifyReply, { headers, etag }: Answer): void => {
  everyAnswer(request, reply)
  if (headers) for (const name in headers) reply.header(name, headers[name])
  if (etag !== undefined) reply.header('etag', `"${etag}"`)
}

/** Sends chunks past the framework, which would send the head before there is anything to send. True: they are under way. */
const sendChunks = (
  request: FastifyRequest,
  reply: FastifyReply,
  chunks: Chunks,
  answer: Answer,
  told: Told,
): boolean => {
  const { status = 200, length, within } = answer
  const { raw } = reply
  const begin = (): Writable => {
    setHeaders(request, reply, answer)
    const zipped = takesGzip(request) && !reply.hasHeader('content-encoding')
    if (zipped) nameGzip(reply)
    else if (length !== undefined) reply.header('content-length', length)
    if (!reply.hasHeader('content-type')) reply.header('content-type', 'application/json')
    for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) raw.setHeader(name, value)
    raw.statusCode = status
    reply.hijack()
    return zipped ? gzipInto(raw) : raw
  }
  if (request.method === 'HEAD') {
    begin().end()
    return false
  }
  if (within !== undefined) {
    const cut = told.after(within, () => raw.destroy())
    raw.once('close', cut.cancel)
  }
  sendStream(request, reply, chunks, begin, told)
  return true
}

/**
 * Sends an answer: 304 for what the client has, else JSON text, with gzip where it is large and the client takes it.
 * True for a stream, whose end is reported later.
 */
export const send = (request: FastifyRequest, reply: FastifyReply, answer: Answer, told: Told): boolean => {
  const { status = 200, body: shown, json, chunks, kept, packed, secret, etag } = answer
  const { spec } = request
  if (spec?.hot && json !== undefined && json.length < SMALL && rawQuery(request) === '') {
    sendNow(request, reply, json)
    return false
  }
  const has = etag !== undefined && !spec?.writes && held(request, etag)
  if (chunks && !has) return sendChunks(request, reply, chunks, answer, told)
  setHeaders(request, reply, answer)
  reply.code(has ? 304 : status)
  if (status >= 400) reply.header('cache-control', 'no-store')
  if (packed) {
    sendPacked(request, reply, packed)
    return false
  }
  const body = secret ? { ...secret, ...(shown as object) } : shown
  if (has || (body === undefined && json === undefined && !kept)) {
    reply.send()
    return false
  }
  if (!reply.hasHeader('content-type')) reply.header('content-type', 'application/json')
  reply.serializer(asIs)
  const ready = typeof body === 'string' || Buffer.isBuffer(body)
  const text = kept?.plain ?? (json !== undefined ? writtenText(json, request) : ready ? body : jsonText(body, request))
  if (text.length >= SMALL && takesGzip(request)) sendGzip(reply, kept?.zipped() ?? zippedFast(text))
  else reply.send(text)
  return false
}

import type { ServerResponse } from 'node:http'
import type { Writable } from 'node:stream'
import { promisify } from 'node:util'
import { constants, createGzip, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../base/clock.ts'
import { named } from '../../contract/readers/input.ts'
import { fitRoom, PACKING, SMALL, UNDER_WAY } from '../memory/room.ts'
import { attempt, sendError } from './fault.ts'
import { tagged, vary } from './headers.ts'
import { parametersOf, rawQuery } from './path.ts'
import type { Answer, Kept, Packed } from './reply.ts'
import { type Chunks, type StreamTold, sendStream } from './stream.ts'

const offer = /(?:^|,)\s*(?:(?:x-)?gzip|\*)\s*(?:;\s*q=([\d.]+)\s*)?(?=,|$)/i
const offerOfBrotli = /(?:^|,)\s*br\s*(?:;\s*q=([\d.]+)\s*)?(?=,|$)/i
/** Fastest level, because most answers are compressed for each request; higher levels save little more. */
const level = { level: constants.Z_BEST_SPEED }

const takes = ({ headers }: Pick<FastifyRequest, 'headers'>, coding: RegExp): boolean => {
  const accepted = headers['accept-encoding']
  const named = typeof accepted === 'string' ? coding.exec(accepted) : null
  return named !== null && Number(named[1] ?? 1) > 0
}

/** True if the client accepts gzip, by name or by `*`, with a nonzero weight. */
export const takesGzip = (request: Pick<FastifyRequest, 'headers'>): boolean => takes(request, offer)

/** Sends the smallest variant of a file that the client accepts. */
const sendPacked = (request: FastifyRequest, reply: FastifyReply, { plain, br, gzip }: Packed): void => {
  reply.header('vary', 'accept-encoding')
  const coding = br && takes(request, offerOfBrotli) ? 'br' : gzip && takesGzip(request) ? 'gzip' : undefined
  if (coding) reply.header('content-encoding', coding)
  void reply.send({ br, gzip, plain }[coding ?? 'plain'])
}

const zip = promisify(gzip)

/** Returns a text that is sent repeatedly. */
export const kept = (text: string): Kept => {
  const plain = Buffer.from(text)
  let zipped: Promise<Buffer> | undefined
  return { plain, zipped: () => (zipped ??= zip(plain)) }
}

/** Sets the headers of a gzip body. */
const nameGzip = (reply: FastifyReply): void => {
  vary(reply, 'accept-encoding')
  reply.header('content-encoding', 'gzip')
}

/** Returns a stream that compresses bytes with gzip and writes them to a response. A fault of either ends the answer. */
const gzipInto = (response: ServerResponse): Writable => {
  const packer = createGzip(level)
  const onData = (bytes: Buffer): void => {
    if (response.write(bytes)) return
    packer.pause()
    response.once('drain', () => packer.resume())
  }
  return packer
    .on('data', (bytes: Buffer) => attempt(response, () => onData(bytes)))
    .on('end', () => attempt(response, () => response.end()))
    .on('error', (error) => response.emit('error', error))
}

/**
 * Minimum length, in characters, of a compressed answer. Shorter answers of a route with many requests bypass the
 * framework.
 */
const TINY = 1024

/** True if the query has `pretty`. */
const isPretty = (request: FastifyRequest): boolean =>
  (request.raw.url ?? '').includes('?') && named(parametersOf(request), 'pretty')

/** JSON text of a body, indented by two spaces if the query has `pretty`. */
export const jsonText = (body: unknown, request: FastifyRequest): string =>
  isPretty(request) ? JSON.stringify(body, null, 2) : JSON.stringify(body)

const writtenText = (json: string, request: FastifyRequest): string =>
  isPretty(request) ? JSON.stringify(JSON.parse(json), null, 2) : json

/** Serializer that returns the text unchanged, so that the framework adds no charset to `application/json`. */
export const asIs = (text: unknown): string => text as string

/** Sets the common response headers (api.md §1.2). */
export const everyAnswer = (request: FastifyRequest, reply: FastifyReply): void => {
  reply.header('x-request-id', request.id)
  reply.header('x-content-type-options', 'nosniff')
}

/** True if `If-None-Match` contains the tag. */
export const held = ({ headers }: FastifyRequest, etag: string): boolean => {
  const given = headers['if-none-match']
  return given !== undefined && tagged(given, etag)
}

/** Writes a small answer directly, without the framework's handling of streams, hooks and serializers. */
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

/** Callbacks of a stream, and the timer that cuts a stream not read in time. */
type SendListeners = StreamTold & Pick<Clock, 'after'>

/** Sets the headers of an answer. */
const setHeaders = (request: FastifyRequest, reply: FastifyReply, { headers, etag }: Answer): void => {
  everyAnswer(request, reply)
  if (headers) for (const name in headers) reply.header(name, headers[name])
  if (etag !== undefined) reply.header('etag', `"${etag}"`)
}

/** Copies status and headers to the response, which the framework then leaves alone. */
const takeOver = (reply: FastifyReply, status: number): void => {
  const { raw } = reply
  if (!reply.hasHeader('content-type')) reply.header('content-type', 'application/json')
  for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) raw.setHeader(name, value)
  raw.statusCode = status
  reply.hijack()
}

/**
 * Sends the headers, and gives the response to the function that writes the stream. The request is over for log and
 * metrics, because a stream that is open for hours is not slow.
 */
const sendPushed = (
  request: FastifyRequest,
  reply: FastifyReply,
  answer: Answer,
  push: NonNullable<Answer['push']>,
): false => {
  setHeaders(request, reply, answer)
  takeOver(reply, 200)
  reply.raw.flushHeaders()
  push(reply.raw)
  return false
}

/**
 * Sends chunks without the framework, because the framework would send the headers before the first chunk exists.
 * Returns true while the stream is in progress.
 */
const sendChunks = (
  request: FastifyRequest,
  reply: FastifyReply,
  chunks: Chunks,
  answer: Answer,
  listeners: SendListeners,
): boolean => {
  const { status = 200, length, within, trailers, live } = answer
  const { raw } = reply
  const begin = (): Writable => {
    setHeaders(request, reply, answer)
    const zipped = !live && takesGzip(request) && !reply.hasHeader('content-encoding')
    if (zipped) nameGzip(reply)
    else if (length !== undefined) reply.header('content-length', length)
    takeOver(reply, status)
    if (trailers && raw.useChunkedEncodingByDefault) raw.setHeader('trailer', trailers.names)
    return zipped ? gzipInto(raw) : raw
  }
  if (request.method === 'HEAD') {
    begin().end()
    return false
  }
  if (within !== undefined) {
    const cut = listeners.after(within, () => raw.destroy())
    raw.once('close', cut.cancel)
  }
  const end = trailers ? () => raw.addTrailers(trailers.values()) : undefined
  sendStream(request, reply, chunks, begin, { ...listeners, end })
  return true
}

/** Bytes that an answer of chunks needs while it is sent. */
const heldBy = (request: FastifyRequest, holds: number): number =>
  holds + UNDER_WAY + (takesGzip(request) ? PACKING : 0)

/** Sends an answer once enough memory is free. The text created so far is discarded and created again. */
const sendLater = (
  request: FastifyRequest,
  reply: FastifyReply,
  answer: Answer,
  listeners: SendListeners,
  room: Promise<void>,
): true => {
  room
    .then(() => {
      if (!send(request, reply, answer, listeners)) listeners.ended(request, reply)
    })
    .catch((error: unknown) => sendError(reply, error))
  return true
}

/** Text or bytes of an answer; undefined for an answer without a body. */
const textOf = (request: FastifyRequest, { body: shown, json, kept, secret }: Answer): string | Buffer | undefined => {
  if (kept) return kept.plain
  if (json !== undefined) return writtenText(json, request)
  const body = secret ? { ...secret, ...(shown as object) } : shown
  return body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : jsonText(body, request)
}

/**
 * Sends an answer: 304 if the client has it, else JSON text, with gzip if it is large and the client accepts it.
 * Returns true if the end is reported later: for a stream, or an answer that waits for memory.
 */
export const send = (
  request: FastifyRequest,
  reply: FastifyReply,
  answer: Answer,
  listeners: SendListeners,
): boolean => {
  const { status = 200, json, chunks, holds = 0, kept, packed, etag } = answer
  const { spec } = request
  if (spec?.hot && json !== undefined && json.length < TINY && rawQuery(request) === '') {
    sendNow(request, reply, json)
    return false
  }
  if (answer.push) return sendPushed(request, reply, answer, answer.push)
  const has = etag !== undefined && !spec?.writes && held(request, etag)
  if (chunks && !has) {
    const room = holds === 'shared' ? undefined : fitRoom({ request, reply }, heldBy(request, holds))
    return room
      ? sendLater(request, reply, answer, listeners, room)
      : sendChunks(request, reply, chunks, answer, listeners)
  }
  const text = has || packed ? undefined : textOf(request, answer)
  if (text !== undefined && !kept && (text.length > SMALL || request.room)) {
    const room = fitRoom({ request, reply }, Buffer.byteLength(text))
    if (room) return sendLater(request, reply, answer, listeners, room)
  }
  setHeaders(request, reply, answer)
  reply.code(has ? 304 : status)
  if (status >= 400) reply.header('cache-control', 'no-store')
  if (packed) sendPacked(request, reply, packed)
  else if (text === undefined) reply.send()
  else {
    if (!reply.hasHeader('content-type')) reply.header('content-type', 'application/json')
    reply.serializer(asIs)
    if (text.length < TINY || !takesGzip(request)) reply.send(text)
    else {
      nameGzip(reply)
      const zipped = kept?.zipped() ?? zip(text, level)
      zipped.then((bytes) => reply.send(bytes)).catch((error: unknown) => sendError(reply, error))
    }
  }
  return false
}

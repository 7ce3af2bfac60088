import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { invalid, Refusal, refuse } from '../../base/errors.ts'
import { yieldToEventLoop } from '../../base/event-loop.ts'
import { closingQuote, LONG_NUMBER, parseExactly, QUOTE } from '../../base/exact-json.ts'
import { objectOf, type Raw } from '../../contract/readers/value.ts'
import { bodyRoom, type Of, SMALL } from '../memory/room.ts'

const DEEPEST = 64
const MOST_MEMBERS = 50_000
const MOST_LARGE_INTEGERS = 2500
/** Bytes of a body whose parsing takes a large part of a slice of the event loop. */
const LARGE = 65_536

declare module 'fastify' {
  interface FastifyRequest {
    /** Body of the request as received; undefined for a request without a body. */
    bytes: Buffer | undefined
  }
}

/**
 * Disables the framework's body parsers, because they refuse some content types and would copy the bytes. `receiveBody`
 * reads all bodies.
 */
export const takeBodies = (app: FastifyInstance): void => {
  app.decorateRequest('bytes', undefined)
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY'])
    app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
}

/** JSON object of a received body, `{}` for a body that is not read; or the refusal. */
const bodyOf = (request: FastifyRequest, isRead: boolean): Raw | Refusal => {
  if (!isRead) return {}
  try {
    return jsonBody(request)
  } catch (error) {
    return error instanceof Refusal ? error : new Refusal('internal', undefined, { cause: error })
  }
}

/**
 * Receives the body into `request.bytes`, then passes its JSON object to `received`; at once for a request without a
 * body. If the body is refused, `received` gets the refusal: 413 as soon as the body exceeds `limit`, and 503 when the
 * memory for all bodies is used up; the remaining bytes are then read and discarded. An unfinished body ends with the
 * request timeout of the server.
 */
export const receiveBody = (of: Of, limit: number, isRead: boolean, received: (body: Raw | Refusal) => void): void => {
  const { request } = of
  const { 'content-length': length, 'transfer-encoding': encoding } = request.raw.headers
  if (encoding === undefined && (length === undefined || length === '0')) received(bodyOf(request, isRead))
  else if (Number(length) > limit) received(new Refusal('body_too_large'))
  else collect(of, limit, (refusal) => received(refusal ?? bodyOf(request, isRead)))
}

const collect = (of: Of, limit: number, received: (refusal?: Refusal) => void): void => {
  const { request } = of
  const { raw, server } = request
  const { 'content-length': length } = raw.headers
  const wanted = length === undefined ? undefined : Number(length)
  const chunks: Buffer[] = []
  let size = 0
  let hasRoom: ReturnType<typeof bodyRoom> | undefined
  const leave = () => raw.off('data', onData).off('end', onEnd).resume()
  const onEnd = (): void => {
    leave()
    request.bytes = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, size)
    // Large bodies that end at the same time are parsed one by one, with other requests between them.
    if (size > LARGE) void yieldToEventLoop().then(() => received())
    else received()
  }
  const onData = (chunk: Buffer): void => {
    size += chunk.length
    chunks.push(chunk)
    if (size > limit) {
      leave()
      received(new Refusal('body_too_large'))
    } else if (size > SMALL && !(hasRoom ??= bodyRoom(of))(size)) {
      leave()
      chunks.length = 0
      received(server.budgets.bodies.refusal())
      // Finish at the last byte, not at the stream's `end` event: requests answered from that event stay referenced for
      // a long time, and each garbage collection copies them.
    } else if (size === wanted) onEnd()
  }
  raw.on('data', onData).on('end', onEnd)
}

/**
 * JSON object in the body; `{}` for an empty body. Refuses an unsupported charset or encoding with 415. Refuses invalid
 * JSON, too deep nesting or too many fields with 400.
 */
const jsonBody = (request: FastifyRequest): Raw => {
  const { headers, bytes } = request
  const { 'content-type': type, 'content-encoding': encoding } = headers
  if (type !== undefined && type !== 'application/json' && foreignCharset(type)) refuse('unsupported_charset')
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity')
    refuse('unsupported_charset', 'unsupported content encoding')
  if (!bytes || bytes.length === 0) return {}
  if (!isUtf8(bytes)) refuse('malformed_body', 'request body is not valid UTF-8')
  const text = bytes.toString('utf8')
  const excess = excessOf(text)
  if (excess === 'depth') refuse('malformed_body', `request body is not valid: nested deeper than ${DEEPEST}`)
  if (excess === 'members') invalid('body', `must have at most ${MOST_MEMBERS} members`)
  return objectOf(parsed(text), 'it')
}

const parsed = (text: string): unknown => {
  try {
    return LONG_NUMBER.test(text) ? parseExactly(text, MOST_LARGE_INTEGERS) : JSON.parse(text)
  } catch (error) {
    if (error instanceof Refusal) throw error
    return refuse('malformed_body')
  }
}

const foreignCharset = (type: string): boolean =>
  [...type.matchAll(/;\s*charset\s*=\s*(?:"([^"]*)"|([^\s;]*))/gi)].some(
    ([, quoted, bare]) => !['utf-8', 'us-ascii'].includes((quoted ?? bare ?? '').toLowerCase()),
  )

const [COMMA, BRACE, BRACKET, BRACE_END, BRACKET_END] = [0x2c, 0x7b, 0x5b, 0x7d, 0x5d]

const openersOf = (text: string, most: number): number => {
  let openers = 0
  for (const opener of ['{', '[']) {
    for (let at = text.indexOf(opener); at >= 0 && openers <= most; at = text.indexOf(opener, at + 1)) openers++
  }
  return openers
}

/**
 * Limit that a JSON text exceeds: nesting depth, or fields and items together. One scan of the text that skips strings.
 * Small texts with few opening brackets are not scanned.
 */
export const excessOf = (text: string, deepest = DEEPEST, most = MOST_MEMBERS): 'depth' | 'members' | undefined => {
  if (text.length <= most * 2 && (text.length <= deepest * 2 || openersOf(text, deepest) <= deepest)) return undefined
  let [depth, members, empty] = [0, 0, false]
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit <= 0x20) continue
    const closes = unit === BRACE_END || unit === BRACKET_END
    // The first value in an object or list counts as one field, and each comma as one more.
    if ((empty && !closes) || unit === COMMA) members++
    if (members > most) return 'members'
    empty = unit === BRACE || unit === BRACKET
    if (empty) depth++
    else if (closes) depth--
    else if (unit === QUOTE) at = closingQuote(text, at)
    if (depth > deepest) return 'depth'
  }
  return undefined
}

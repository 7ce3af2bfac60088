import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { closingQuote, objectOf, QUOTE, type Raw } from '../../contract/readers/value.ts'
import { invalid, Refusal, refuse } from '../../errors.ts'
import { bodyRoom, type Of, SMALL } from './room.ts'

const DEEPEST = 64
const MOST_MEMBERS = 50_000

/** The body of a request as it was sent; undefined when there is none. */
type Bytes = Buffer | undefined

declare module 'fastify' {
  interface FastifyRequest {
    bytes: Bytes
  }
}

/** Reads every body here and not in the framework, whose parsers refuse some types and would copy the bytes. */
export const takeBodies = (app: FastifyInstance): void => {
  app.decorateRequest('bytes', undefined)
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS'])
    app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
}

/**
 * Calls back with the body, or with 413 as soon as it is larger than `limit`, or with 503 when all bodies under way have
 * no room for more; the rest is read and discarded. A body that never ends is left to the server's time limit.
 */
export const takeBody = (of: Of, limit: number, done: (bytes: Bytes, refusal?: Refusal) => void): void => {
  const { raw, server } = of.request
  const { 'content-length': length, 'transfer-encoding': encoding } = raw.headers
  if (encoding === undefined && (length === undefined || length === '0')) return done(undefined)
  if (Number(length) > limit) return done(undefined, new Refusal('body_too_large'))
  const wanted = length === undefined ? undefined : Number(length)
  const chunks: Buffer[] = []
  let size = 0
  let hasRoom: ReturnType<typeof bodyRoom> | undefined
  const leave = () => raw.off('data', onData).off('end', onEnd).resume()
  const onEnd = (): void => {
    leave()
    done(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, size))
  }
  const onData = (chunk: Buffer): void => {
    size += chunk.length
    chunks.push(chunk)
    if (size > limit) {
      leave()
      done(undefined, new Refusal('body_too_large'))
    } else if (size > SMALL && !(hasRoom ??= bodyRoom(of))(size)) {
      leave()
      chunks.length = 0
      done(undefined, server.budgets.bodies.busy())
      // With the last byte, and not at the stream's end: requests answered from there were kept for long after, and every collection copied them.
    } else if (size === wanted) onEnd()
  }
  raw.on('data', onData).on('end', onEnd)
}

/**
 * The JSON object in the body, `{}` when it is empty. Refuses with 415 (charset, encoding), and with 400 what cannot be
 * read, is nested too deep or has too many members.
 */
export const jsonBody = (request: FastifyRequest): Raw => {
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
    return JSON.parse(text)
  } catch {
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
 * What a JSON text has too much of, found in one walk that skips strings: depth, or members and items together. Small
 * texts with few openers need no walk.
 */
export const excessOf = (text: string, deepest = DEEPEST, most = MOST_MEMBERS): 'depth' | 'members' | undefined => {
  if (text.length <= most * 2 && (text.length <= deepest * 2 || openersOf(text, deepest) <= deepest)) return undefined
  let [depth, members, empty] = [0, 0, false]
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit <= 0x20) continue
    const closes = unit === BRACE_END || unit === BRACKET_END
    // The first thing in an object or a list is a member of it, each comma tells of another.
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

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isUtf8 } from 'node:buffer'
import { Refusal, refuse } from '../errors.ts'
import { objectOf, type Raw } from './value.ts'

/** Largest body under `/auth/v1`, in bytes (api.md §1.1). */
export const AUTH_BODY_LIMIT = 65_536
const DEEPEST = 64

/** The body of a request as it was sent; undefined when there is none. */
export type Bytes = Buffer | undefined

declare module 'fastify' {
  interface FastifyRequest {
    bytes: Bytes
  }
}

/** Reads every body here and not in the framework, whose parsers refuse some types and would copy the bytes. */
export const takeBodies = (app: FastifyInstance): void => {
  app.decorateRequest('bytes', undefined)
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
}

/** Calls back with the body once it is there, or with 413 as soon as it is larger than `limit`; the rest of it is then read and thrown away. A body that never ends is the business of the server's time limit. */
export const takeBody = ({ raw }: FastifyRequest, limit: number, done: (bytes: Bytes, refusal?: Refusal) => void): void => {
  const { 'content-length': length, 'transfer-encoding': encoding } = raw.headers
  if (encoding === undefined && (length === undefined || length === '0')) return done(undefined)
  if (Number(length) > limit) return done(undefined, new Refusal('body_too_large'))
  const wanted = length === undefined ? undefined : Number(length)
  const chunks: Buffer[] = []
  let size = 0
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
      // With the last byte, and not at the stream's end: requests answered from there were kept for long after, and every collection copied them.
    } else if (size === wanted) onEnd()
  }
  raw.on('data', onData).on('end', onEnd)
}

/** The JSON object in the body, `{}` when it is empty. Refuses with 415 (charset, encoding) and 400 `malformed_body`. */
export const jsonBody = (request: FastifyRequest): Raw => {
  const { headers, bytes } = request
  const { 'content-type': type, 'content-encoding': encoding } = headers
  if (type !== undefined && type !== 'application/json' && foreignCharset(type)) refuse('unsupported_charset')
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity') refuse('unsupported_charset', 'unsupported content encoding')
  if (!bytes || bytes.length === 0) return {}
  if (!isUtf8(bytes)) refuse('malformed_body', 'request body is not valid UTF-8')
  const text = bytes.toString('utf8')
  if (deeperThan(DEEPEST, text)) refuse('malformed_body', `request body is not valid: nested deeper than ${DEEPEST}`)
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

/** Whether a JSON text nests objects and lists deeper than this. Texts with few openers are decided without looking at each character. */
export const deeperThan = (limit: number, text: string): boolean => {
  if (text.length <= limit * 2) return false
  let openers = 0
  for (const opener of ['{', '[']) {
    for (let at = text.indexOf(opener); at >= 0 && openers <= limit; at = text.indexOf(opener, at + 1)) openers++
  }
  if (openers <= limit) return false
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (character === '"') at = closingQuote(text, at)
    else if (character === '{' || character === '[') depth++
    else if (character === '}' || character === ']') depth--
    if (depth > limit) return true
  }
  return false
}

/** Where the JSON string that opens here ends; the length of a text that ends before it. */
export const closingQuote = (text: string, opening: number): number => {
  for (let at = opening + 1; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '"') return at
  }
  return text.length
}

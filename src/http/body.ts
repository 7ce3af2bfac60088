import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isUtf8 } from 'node:buffer'
import { refuse } from '../errors.ts'
import { objectOf, type Raw } from './value.ts'

/** Largest body under `/auth/v1`, in bytes (api.md §1.1). */
export const AUTH_BODY_LIMIT = 65_536
const DEEPEST = 64

declare module 'fastify' {
  interface FastifyRequest {
    /** The Content-Type as it was sent, where it is not plainly JSON. */
    sentType: string | undefined
  }
}

/** Takes every body as bytes, whatever its type; what they mean is decided by the route, after the checks that come first. */
export const takeBodies = (app: FastifyInstance): void => {
  app.decorateRequest('sentType', undefined)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (_request, bytes, done) => done(null, bytes))
  for (const method of ['GET', 'HEAD']) app.addHttpMethod(method, { hasBody: true, overrideExisting: true })
}

/** Hides the sent Content-Type from the framework, which would refuse some; `jsonBody` looks at it later. */
export const plainType = (request: FastifyRequest): void => {
  const { headers } = request.raw
  const type = headers['content-type']
  if (type === 'application/json') return
  request.sentType = type
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) delete headers['content-type']
  else headers['content-type'] = 'application/json'
}

/** The body as it was sent; undefined when there was none. */
export const bytesOf = ({ body }: FastifyRequest): Buffer | undefined => (Buffer.isBuffer(body) && body.length > 0 ? body : undefined)

/** The JSON object in the body, `{}` when it is empty. Refuses with 415 (charset, encoding) and 400 `malformed_body`. */
export const jsonBody = (request: FastifyRequest): Raw => {
  const { sentType, headers } = request
  const encoding = headers['content-encoding']
  if (sentType !== undefined && foreignCharset(sentType)) refuse('unsupported_charset')
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity') refuse('unsupported_charset', 'unsupported content encoding')
  const bytes = bytesOf(request)
  if (!bytes) return {}
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

const closingQuote = (text: string, opening: number): number => {
  for (let at = opening + 1; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '"') return at
  }
  return text.length
}

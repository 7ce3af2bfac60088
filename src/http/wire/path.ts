import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { Refusal } from '../../base/errors.ts'
import { type Query, queryIn } from '../../contract/readers/input.ts'
import { HEADER_LIMIT } from '../memory/arriving-requests.ts'

declare module 'node:http' {
  interface IncomingMessage {
    /** Mark set by `cleanTarget`: the reason to refuse the target, or `hollow` for a path with an empty segment. */
    target?: keyof typeof wrongs | 'hollow'
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Parsed query parameters, set on first use. */
    parameters: Query | undefined
  }
}

/** Limits of a target: bytes and segments of its path, parameters of its query. */
const PATH_BYTES = 2_048
const SEGMENTS = 32
const PARAMETERS = 100

const crowded = `must have at most ${PARAMETERS} parameters`
const wrongs = {
  malformed: () => new Refusal('malformed_path'),
  long: () => new Refusal('path_too_long', `path must have at most ${PATH_BYTES} bytes and ${SEGMENTS} segments`),
  crowded: () =>
    new Refusal('invalid_argument', `invalid field query: ${crowded}`, {
      violation: { field: 'query', description: crowded },
    }),
}

/** Refusal of a target that no route accepts. */
export const wrongTarget = (target: keyof typeof wrongs): Refusal => wrongs[target]()

/** Placeholder for an empty path segment in the router; no valid decoded segment contains it. */
const hollow = '\0'

/** Target in absolute form (RFC 9112 §3.2.2): scheme, host and port, then path and query. */
const absolute = /^https?:\/\/([a-z0-9._~%!$&'()*+,;=-]+(?::\d*)?|\[[0-9a-f:.]+\](?::\d*)?)(?=[/?]|$)/i

/** Path and query of a target, and the host of one in absolute form. */
const partsOf = (target: string): readonly [rest: string, host?: string] => {
  if (target.startsWith('/')) return [target]
  const [head = '', host] = absolute.exec(target.slice(0, PATH_BYTES)) ?? []
  const rest = target.slice(head.length)
  // The host may go on after the part that was matched.
  if (head === '' || !['', '/', '?'].includes(rest.charAt(0))) return [target]
  return [rest.startsWith('/') ? rest : `/${rest}`, host!]
}

/** Target in origin form. The host of an absolute target replaces the header `Host`. */
const originForm = ({ url = '', headers }: IncomingMessage): string => {
  const [rest, host] = partsOf(url)
  if (host !== undefined) headers.host = host
  return rest
}

/** True if the first segment of the path of a request is `name`, also if no route accepts the path. */
export const isBelow = (name: string, { url, originalUrl }: FastifyRequest): boolean =>
  [url, partsOf(originalUrl)[0]].some((target) => target.split(/[/?]/, 2)[1] === name)

const plain = /^(?:\/[\w~,@:+=!$&'()*;-][\w.~,@:+=!$&'()*;-]*)+$/
const unprintable = /[^\x21-\x7e]|[#\\]/
const escaping = /[/\\\p{Cc}]/u

/** True if a character occurs more than `most` times. The function stops at the first excess. */
const hasMore = (text: string, character: string, most: number): boolean => {
  let at = -1
  for (let n = 0; n <= most; n++) {
    at = text.indexOf(character, at + 1)
    if (at < 0) return false
  }
  return true
}

/**
 * Normalizes the request target for the router (api.md §1.1, path, query and trailing slash): removes one trailing
 * slash, and scheme and host of an absolute target, and encodes each segment in one way. A target that is too long or
 * leaves its folder is marked on the request, and `framing` refuses it.
 */
export const cleanTarget = (request: IncomingMessage): string => {
  const target = originForm(request)
  const mark = target.indexOf('?')
  const path = mark < 0 ? target : target.slice(0, mark)
  const isLong = path.length > PATH_BYTES || hasMore(path, '/', SEGMENTS)
  const clean = isLong ? undefined : plain.test(path) ? path : cleanPath(path)
  if (clean === undefined) {
    request.target = isLong ? 'long' : 'malformed'
    return '/'
  }
  if (clean.includes('%00')) request.target = 'hollow'
  if (mark < 0) return clean
  const query = target.slice(mark)
  if (!hasMore(query, '&', PARAMETERS - 1)) return clean + query
  request.target = 'crowded'
  return clean
}

const cleanPath = (path: string): string | undefined => {
  if (!path.startsWith('/') || unprintable.test(path)) return undefined
  const dropped = path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
  if (dropped === '/') return '/'
  const segments = dropped.split('/').slice(1).map(decodedSegment)
  if (
    segments.some((segment) => segment === undefined || segment === '.' || segment === '..' || escaping.test(segment))
  )
    return undefined
  const [api, version, collection, namespace] = segments
  if (api === 'api' && version === 'v1' && collection === 'namespaces' && namespace === '' && segments.length > 4)
    segments[3] = 'default'
  return segments.map((segment) => `/${encodeURIComponent(segment || hollow)}`).join('')
}

const decodedSegment = (segment: string): string | undefined => {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}

/** Options of the framework's router. The query is parsed on first use (`parametersOf`). */
export const routing = {
  rewriteUrl: cleanTarget,
  routerOptions: { maxParamLength: HEADER_LIMIT, querystringParser: () => ({}) },
}

/** Replaces the placeholder in path parameters with the empty text. */
export const emptied = (params: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(params).map(([name, value]) => [name, value === hollow ? '' : value]))

/** Query string as sent, without `?`. */
export const rawQuery = ({ raw: { url = '' } }: FastifyRequest): string => {
  const mark = url.indexOf('?')
  return mark < 0 ? '' : url.slice(mark + 1)
}

/** Parameters of a request's query, parsed on first use. */
export const parametersOf = (request: FastifyRequest): Query => (request.parameters ??= queryIn(rawQuery(request)))

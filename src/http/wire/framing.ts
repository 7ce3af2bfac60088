import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Refusal } from '../../base/errors.ts'
import { CLIENT_TOKEN } from '../../base/token-form.ts'
import { parentIn } from '../../base/tracing.ts'
import { HEADER_LIMIT } from '../memory/arriving-requests.ts'
import { emptied, wrongTarget } from './path.ts'

/** Request id: the client's if it is valid (api.md §1.2), else a new UUID. */
export const requestId = ({ headers }: Pick<IncomingMessage, 'headers'>): string => {
  const given = headers['x-request-id']
  return typeof given === 'string' && /^[\w.-]{1,128}$/.test(given) && !CLIENT_TOKEN.test(given) ? given : randomUUID()
}

/** Maximum number of headers in a request. The parser would silently drop any further ones. */
export const HEADERS = 1000

/** Number of occurrences of a header; Node keeps only the first of some headers. */
export const times = (rawHeaders: readonly string[], name: string): number => {
  let count = 0
  for (let n = 0; n < rawHeaders.length; n += 2) {
    const sent = rawHeaders[n]
    if (sent !== undefined && sent.length === name.length && sent.toLowerCase() === name) count++
  }
  return count
}

type Verbs = readonly { readonly matches: RegExp; readonly verbs: readonly string[] }[]

/** All paths, each with its methods in the order of registration. */
export const verbsOf = (routes: ReadonlyMap<string, ReadonlySet<string>>): Verbs =>
  [...routes].map(([url, verbs]) => ({
    matches: new RegExp(
      `^${url
        .replaceAll(/[.+()]/g, String.raw`\$&`)
        .replaceAll(/:\w+/g, '[^/]+')
        .replace(/\*$/, '.*')}$`,
    ),
    verbs: [...verbs],
  }))

/** Refusal of a request without a route: 405 with the verbs of its path, else 404. */
export const unknown = (paths: Verbs, { url }: FastifyRequest): Refusal => {
  const path = url.split('?', 1)[0]!
  const allowed = new Set(paths.filter(({ matches }) => matches.test(path)).flatMap(({ verbs }) => verbs))
  return allowed.size === 0
    ? new Refusal('route_not_found')
    : new Refusal('method_not_allowed', undefined, { headers: { allow: [...allowed].join(', ') } })
}

/** True if the target and the headers without `If-None-Match`, which grows in some engines, are too large. */
const hasLargeOthers = ({ large, url = '', rawHeaders, headers }: IncomingMessage): boolean => {
  if (!large) return false
  const all = rawHeaders.reduce((sum, { length }) => sum + length, url.length)
  return all - (headers['if-none-match']?.length ?? 0) > HEADER_LIMIT
}

/** Refusal of a request that is malformed, whatever its route. */
const malformed = (request: IncomingMessage): Refusal | undefined => {
  const { target, headers, rawHeaders, httpVersion } = request
  if (target !== undefined && target !== 'hollow') return wrongTarget(target)
  if (hasLargeOthers(request)) return new Refusal('headers_too_large')
  const hosts = times(rawHeaders, 'host')
  if (hosts > 1) return new Refusal('invalid_header', 'invalid header Host: given twice')
  if (rawHeaders.length > HEADERS * 2)
    return new Refusal('headers_too_large', `request has more than ${HEADERS} headers`)
  const encoding = headers['transfer-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'chunked')
    return new Refusal('invalid_header', 'invalid header Transfer-Encoding: must be chunked', {
      headers: { connection: 'close' },
    })
  if (hosts === 0 && httpVersion !== '1.0') return new Refusal('invalid_header', 'invalid header Host: missing')
  return undefined
}

/** Step 1 of api.md §1.3, for every request with or without a route. */
export const framing = ({ request }: { readonly request: FastifyRequest }): void => {
  const { raw, server } = request
  const refusal = malformed(raw)
  request.began = server.clock.monotonic()
  request.address = server.clientAddress(raw)
  const { traceparent } = raw.headers
  if (traceparent !== undefined) raw.traceId ??= parentIn(traceparent)?.traceId
  if (refusal) throw refusal
  if (raw.target === 'hollow') request.params = emptied(request.params as Record<string, string>)
}

/** Collects the methods of each path when routes are registered. */
export const collectVerbs = (app: FastifyInstance): ReadonlyMap<string, ReadonlySet<string>> => {
  const verbs = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ url, method, config }) => {
    if (url === '*' || config?.spec?.absent) return
    const known = verbs.get(url) ?? new Set()
    verbs.set(url, known)
    for (const verb of [method].flat()) known.add(verb)
  })
  return verbs
}

import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../clock.ts'
import { Refusal } from '../../errors.ts'
import { emptied, wrongTarget } from './path.ts'
import { everyAnswer } from './reply.ts'

/** Request id: the client's if it is valid (api.md §1.2), else a new UUID. */
export const requestId = ({ headers }: Pick<IncomingMessage, 'headers'>): string => {
  const given = headers['x-request-id']
  return typeof given === 'string' && /^[\w.-]{1,128}$/.test(given) ? given : randomUUID()
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

/** Sets the common response headers before another hook can answer. */
export const opening = (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
  everyAnswer(request, reply)
  done()
}

type Verbs = readonly { readonly matches: RegExp; readonly verbs: readonly string[] }[]

/** All paths, each with its verbs in mounting order. */
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

/**
 * Step 1 of api.md §1.3, for every request with or without a route. The route's own hook calls it, because another hook
 * would cost time in each request.
 */
export const framing = (request: FastifyRequest, monotonic: Clock['monotonic']): Refusal | undefined => {
  const { raw } = request
  request.began = monotonic()
  request.address = request.server.clientAddress(raw)
  const wrong = wrongTarget(raw)
  if (wrong) return wrong
  if (times(raw.rawHeaders, 'host') > 1) return new Refusal('invalid_header', 'invalid header Host: given twice')
  if (raw.rawHeaders.length > HEADERS * 2)
    return new Refusal('headers_too_large', `request has more than ${HEADERS} headers`)
  const encoding = raw.headers['transfer-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'chunked')
    return new Refusal('invalid_header', 'invalid header Transfer-Encoding: must be chunked', {
      headers: { connection: 'close' },
    })
  if (raw.headers.host === undefined && raw.httpVersion !== '1.0')
    return new Refusal('invalid_header', 'invalid header Host: missing')
  if (raw.target === 'hollow') request.params = emptied(request.params as Record<string, string>)
  return undefined
}

/** Collects the verbs of each path as routes are mounted. */
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

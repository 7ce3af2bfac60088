import type { FastifyRequest } from 'fastify'
import type { IncomingMessage } from 'node:http'

declare module 'node:http' {
  interface IncomingMessage {
    /** What `cleanTarget` found: a path that no route may see, or one with an empty segment. */
    path?: 'malformed' | 'hollow'
  }
}

/** Stands for an empty segment on its way through the router: no decoded segment can be it. */
const hollow = '\0'

const plain = /^(?:\/[\w~,@:+=!$&'()*;-][\w.~,@:+=!$&'()*;-]*)+$/
const unprintable = /[^\x21-\x7e]|[#\\]/
const escaping = /[/\\\p{Cc}]/u

/**
 * The request target as the router may see it (api.md §1.1, path parameters and trailing slash): one trailing slash dropped, each
 * segment in one spelling. A path that would escape, and an absolute-form target, are marked on the request and refused by the gate.
 */
export const cleanTarget = (request: IncomingMessage): string => {
  const target = request.url ?? ''
  const mark = target.indexOf('?')
  const path = mark < 0 ? target : target.slice(0, mark)
  if (plain.test(path)) return target
  const clean = cleanPath(path)
  if (clean === undefined) {
    request.path = 'malformed'
    return '/'
  }
  if (clean.includes('%00')) request.path = 'hollow'
  return mark < 0 ? clean : clean + target.slice(mark)
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

/** Empty path parameters as what they are, for the checks to come. */
export const emptied = (params: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(params).map(([name, value]) => [name, value === hollow ? '' : value]))

/** The query string as it was sent, without `?`. */
export const rawQuery = ({ raw: { url = '' } }: FastifyRequest): string => {
  const mark = url.indexOf('?')
  return mark < 0 ? '' : url.slice(mark + 1)
}

/** True when the query names the parameter, in any form (`?pretty`, `?pretty=`, `?pretty=x`). */
export const named = (query: string, name: string): boolean =>
  query.includes(name) && query.split('&').some((pair) => pair === name || pair.startsWith(`${name}=`))

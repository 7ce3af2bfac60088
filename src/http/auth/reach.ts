import type { FastifyRequest } from 'fastify'
import { Refusal } from '../../errors.ts'
import type { Service } from '../service.ts'
import type { Place } from '../statements.ts'

/** The namespace that the namespace header means (api.md §10). */
export const namespaceHeader = ({ headers }: FastifyRequest, { names }: Pick<Service, 'names'>): string => {
  const header = headers[names.namespaceHeader]
  return typeof header === 'string' && header !== '' ? header : 'default'
}

/** The namespace that the head of a request names; undefined: it belongs to none. */
const namespaceNamed = (
  place: Exclude<Place, 'any' | { readonly body: unknown }>,
  request: FastifyRequest,
  service: Pick<Service, 'names'>,
): string | undefined => {
  if (place === 'none' || place === 'some') return undefined
  if (place === 'default') return place
  if (place === 'header') return namespaceHeader(request, service)
  return (request.params as Record<string, string | undefined>)[place.param]
}

/** How far a token that is bound to a namespace reaches by the head of a request (api.md §3.3); `undecided` where the body has a say. */
export const reachOf = (
  bound: string,
  place: Place,
  request: FastifyRequest,
  service: Pick<Service, 'names'>,
): boolean | 'undecided' => {
  if (typeof place === 'object' && 'body' in place) return 'undecided'
  if (place === 'any') return true
  return namespaceNamed(place, request, service) === bound
}

/** Refuses a namespaced token outside its reach: the same answer whether or not the target exists. */
export const outOfReach = (): Refusal => new Refusal('token_scoped')

import type { FastifyRequest } from 'fastify'
import { EVERYWHERE } from '../../access/grants.ts'
import { allowed, allowedSomewhere, type Reach } from '../../access/reach.ts'
import type { RightSet } from '../../access/rights.ts'
import type { Refusal } from '../../base/errors.ts'
import type { Query } from '../../contract/readers/input.ts'
import type { Raw } from '../../contract/readers/value.ts'
import { isNamedLater, type RequiredRight, type RequiredRights } from '../route/required-rights.ts'
import type { RightPlace } from '../route/statements.ts'
import type { CommandServices } from '../services/commands.ts'
import { namespaceOf } from '../wire/family-headers.ts'
import { parametersOf } from '../wire/path.ts'
import { outOfReach, rightMissing } from './permission-errors.ts'

type Named = Pick<CommandServices, 'names'>

/** Namespace of the namespace header (api.md §10). */
export const namespaceHeader = ({ headers }: FastifyRequest, { names }: Named): string =>
  namespaceOf(headers, names.namespaceHeader) ?? 'default'

const paramsOf = ({ params }: FastifyRequest) => params as Readonly<Record<string, string>>

/** Namespace in the path, the headers or the query of a stream, if any. */
const placeInHead = (place: RightPlace, request: FastifyRequest, service: Named): string | undefined => {
  if (place === 'default') return place
  if (place === 'none') return EVERYWHERE
  if (place === 'header') return namespaceHeader(request, service)
  if (typeof place === 'object' && 'stream' in place) return place.stream(parametersOf(request))
  return typeof place === 'object' && 'param' in place ? paramsOf(request)[place.param] : undefined
}

/** True if the caller has all these rights in one namespace. */
const together = ({ everywhere, places }: Reach, bits: RightSet): boolean =>
  (everywhere & bits) === bits || [...places.values()].some((set) => ((everywhere | set) & bits) === bits)

/**
 * Refusal for an additional right that the query needs and the caller lacks in the namespace; without `place`, any one
 * namespace may have it.
 */
const missingMore = (
  reach: Reach,
  { need, more }: RequiredRights,
  asked: Query,
  place?: string,
  body?: Raw,
): Refusal | undefined => {
  if (asked.length === 0) return undefined
  for (const { right, bit, isAsked } of more) {
    const held = place === undefined ? together(reach, bit | (need?.bit ?? 0)) : allowed(reach, bit, place)
    if (!held && isAsked(asked, body)) return rightMissing(right, place)
  }
  return undefined
}

/** True if the query names a record of a different holder than the caller. */
const asksOther = (request: FastifyRequest, { idIn }: NonNullable<RequiredRights['other']>): boolean => {
  const id = idIn(parametersOf(request))
  return id !== undefined && id !== request.caller.actor.id
}

/**
 * First decision on the right to another holder's record: the caller has it everywhere, in some namespace (`later`) or
 * nowhere.
 */
const ofOther = (reach: Reach, { right, bit }: RequiredRight): Refusal | 'later' | undefined => {
  if (allowed(reach, bit, EVERYWHERE)) return undefined
  return allowedSomewhere(reach, bit) ? 'later' : rightMissing(right)
}

/** Namespace that the query names, if the route also accepts a right in this namespace instead of its own right. */
const namespaceAsked = ({ inOne }: RequiredRights, request: FastifyRequest): string | undefined =>
  inOne?.namespaceIn(parametersOf(request))

/** Decision on a right in one namespace, for a caller without the right of the route. */
const inNamespace = (reach: Reach, { right, bit }: RequiredRight, namespace: string): Refusal | undefined => {
  if (reach.namespace !== undefined && reach.namespace !== namespace) return outOfReach()
  return allowed(reach, bit, namespace) ? undefined : rightMissing(right, namespace)
}

/**
 * Access decision by path and headers, for a set of rights that is not full. Returns a refusal, or `later` if body or
 * query must still be checked (api.md §3.6).
 */
export const byHead = (
  reach: Reach,
  wants: RequiredRights,
  request: FastifyRequest,
  service: Named,
): Refusal | 'later' | undefined => {
  const { place, need, more } = wants
  const named = placeInHead(place, request, service)
  const inBody = typeof place === 'object' && 'body' in place
  if (namespaceAsked(wants, request) !== undefined)
    return need && named !== undefined && allowed(reach, need.bit, named) ? undefined : 'later'
  if (reach.namespace !== undefined && reach.namespace !== named && place !== 'any' && !inBody) return outOfReach()
  if (need && !(named === undefined ? allowedSomewhere(reach, need.bit) : allowed(reach, need.bit, named)))
    return rightMissing(need.right, named)
  if (wants.other && asksOther(request, wants.other)) return ofOther(reach, wants.other)
  if (isNamedLater(place))
    return 'record' in place && need && allowed(reach, need.bit, EVERYWHERE) ? undefined : 'later'
  return more.length > 0 && missingMore(reach, wants, parametersOf(request), named) ? 'later' : undefined
}

/** Access decision by body and query for one namespace. */
const inOne = (reach: Reach, wants: RequiredRights, asked: Query, at: string): Refusal | undefined => {
  const { need } = wants
  if (reach.namespace !== undefined && at !== reach.namespace) return outOfReach()
  return need && !allowed(reach, need.bit, at) ? rightMissing(need.right, at) : missingMore(reach, wants, asked, at)
}

/** Access decision for several namespaces; an empty list accepts any namespace. */
const inEach = (reach: Reach, wants: RequiredRights, asked: Query, places: readonly string[]): Refusal | undefined => {
  const { need } = wants
  const { namespace: bound } = reach
  if (bound !== undefined && (places.length === 0 || places.some((at) => at !== bound))) return outOfReach()
  const without = need && places.find((at) => !allowed(reach, need.bit, at))
  if (need && without !== undefined) return rightMissing(need.right, without)
  if (places.length === 0) return missingMore(reach, wants, asked)
  for (const at of places) {
    const refusal = missingMore(reach, wants, asked, at)
    if (refusal) return refusal
  }
  return undefined
}

/**
 * Refuses access to a record unless the caller has the right in the namespace to which its token is limited. The answer
 * does not depend on the existence of the record.
 */
const ofRecord = async (
  reach: Reach,
  { right, bit }: RequiredRight,
  namespace: Promise<string | undefined>,
): Promise<Refusal | undefined> => {
  const bound = await namespace
  return bound !== undefined && allowed(reach, bit, bound) ? undefined : rightMissing(right, EVERYWHERE)
}

/** Completes the access decision that `byHead` left open, by body and query. */
export const byRest = (
  reach: Reach,
  wants: RequiredRights,
  request: FastifyRequest,
  body: Raw,
  service: Named,
): Refusal | undefined | Promise<Refusal | undefined> => {
  const { place, need, other } = wants
  const asked = parametersOf(request)
  const namespace = namespaceAsked(wants, request)
  if (wants.inOne && namespace !== undefined) return inNamespace(reach, wants.inOne, namespace)
  if (other && asksOther(request, other)) return ofRecord(reach, other, other.boundTo(other.idIn(asked)!))
  if (!isNamedLater(place)) return missingMore(reach, wants, asked, placeInHead(place, request, service), body)
  if ('record' in place) return need && ofRecord(reach, need, place.record(paramsOf(request)))
  if ('query' in place) return inOne(reach, wants, asked, place.query(asked))
  if ('made' in place) return inOne(reach, wants, asked, place.made(body))
  const places = place.body(body)
  return typeof places === 'string' ? inOne(reach, wants, asked, places) : inEach(reach, wants, asked, places)
}

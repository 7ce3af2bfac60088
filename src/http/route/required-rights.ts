import { EVERYWHERE } from '../../access/grants.ts'
import { bitOf, type Right, type RightSet } from '../../access/rights.ts'
import { flag, text } from '../../contract/readers/fields.ts'
import { type Fields, member, type Query, query, type ReadOf } from '../../contract/readers/input.ts'
import type { Input, Raw } from '../../contract/readers/value.ts'
import type { OtherRecord, RightInOne, RightPlace, RouteAccess } from './statements.ts'

/** A right and its bit. */
export type RequiredRight = { readonly right: Right; readonly bit: RightSet }

/** Rights that a route requires, computed once when it is mounted. */
export type RequiredRights = {
  readonly place: RightPlace
  /** The value is undefined if any valid credential is sufficient. */
  readonly need: RequiredRight | undefined
  /** Additional rights for some queries, in the same namespaces. The body is undefined until it was received. */
  readonly more: readonly (RequiredRight & { readonly isAsked: (asked: Query, body?: Raw) => boolean })[]
  /** Right required if the query names another holder's record. */
  readonly other: (RequiredRight & Pick<OtherRecord, 'idIn' | 'boundTo'>) | undefined
  /** Right that is sufficient instead, in the one namespace that the query is about. */
  readonly inOne: (RequiredRight & Pick<RightInOne, 'namespaceIn'>) | undefined
}

const requiredRight = (right: Right): RequiredRight => ({ right, bit: bitOf(right) })

/** Reads query parameters before their field rules; returns undefined for values that those rules refuse. */
export const beforeRules = <F extends Fields>(fields: F) => {
  const { read } = query(fields)
  return (asked: Query): ReadOf<F> | undefined => {
    if (asked.length === 0) return undefined
    try {
      return read(asked)
    } catch {
      return undefined
    }
  }
}

const explainIn = beforeRules({ explain: flag() })
const pastIn = beforeRules({ at: text({ stored: false }) })

/** True if the query has a nonempty `at`. */
const namesMoment = (asked: Query): boolean => (pastIn(asked)?.at ?? '') !== ''

const dryRunIn = beforeRules({ dryRun: flag() })

/** True if a dry run names an entity in its body, or may do so, because the body was not received yet. */
const evaluatesDraft = (asked: Query, body?: Raw): boolean =>
  dryRunIn(asked)?.dryRun === true && (body === undefined || member(body, 'evaluate') !== undefined)

const keyIn = beforeRules({ namespaceKey: text() })

const idParameter = beforeRules({ id: text({ stored: false }) })

/** Record id in the parameter `id`, if any. */
export const idInQuery = (asked: Query): string | undefined => idParameter(asked)?.id || undefined

/** Namespace in the parameter `namespaceKey`, else `*`. */
export const placeInQuery = (asked: Query): string => keyIn(asked)?.namespaceKey || EVERYWHERE

/** Rights that a route requires, from its access statement and its query parameters. */
export const requiredRightsOf = (
  access: RouteAccess,
  taken: Input<unknown, Query> | undefined,
): RequiredRights | undefined => {
  if (access.credential === 'public') return undefined
  const { namespace: place, right, past, other, inOne, evaluates } = access
  const parameters = taken?.schema.properties ?? {}
  const explains = 'explain' in parameters
  const looksBack = 'at' in parameters && past !== 'free'
  return {
    place,
    need: right === 'none' ? undefined : requiredRight(right),
    other: other && { ...other, ...requiredRight(other.right) },
    inOne: inOne && { ...inOne, ...requiredRight(inOne.right) },
    more: [
      ...(explains
        ? [{ ...requiredRight('flag.read'), isAsked: (asked: Query) => explainIn(asked)?.explain === true }]
        : []),
      ...(evaluates ? [{ ...requiredRight(evaluates), isAsked: evaluatesDraft }] : []),
      ...(looksBack ? [{ ...requiredRight('history.read'), isAsked: namesMoment }] : []),
    ],
  }
}

type InHead = string | { readonly param: string } | Extract<RightPlace, { readonly stream: unknown }>

/** True if the namespace is in the body or a stored record, or the query names it for the whole deployment. */
export const isNamedLater = (place: RightPlace): place is Exclude<RightPlace, InHead> =>
  typeof place === 'object' && !('param' in place) && !('stream' in place)

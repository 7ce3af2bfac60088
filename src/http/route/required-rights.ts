import { EVERYWHERE } from '../../access/grants.ts'
import { bitOf, type Right, type RightSet } from '../../access/rights.ts'
import type { Input } from '../../contract/readers/field.ts'
import { flag, text } from '../../contract/readers/fields.ts'
import { type Fields, type Query, query, type ReadOf } from '../../contract/readers/input.ts'
import type { OtherRecord, RightPlace, RouteAccess } from './statements.ts'

/** A right, and the bit by which it is decided. */
export type RequiredRight = { readonly right: Right; readonly bit: RightSet }

/** What a route wants of a credential, looked up once when it is mounted. */
export type RequiredRights = {
  readonly place: RightPlace
  /** Undefined: any valid credential will do. */
  readonly need: RequiredRight | undefined
  /** What queries want besides, in the same places. */
  readonly more: readonly (RequiredRight & { readonly isAsked: (asked: Query) => boolean })[]
  /** What is wanted where the query names another's record. */
  readonly other: (RequiredRight & Pick<OtherRecord, 'idIn' | 'boundTo'>) | undefined
}

const requiredRight = (right: Right): RequiredRight => ({ right, bit: bitOf(right) })

/** Reads parameters of a query before its field rules, which refuse what cannot be read. */
const before = <F extends Fields>(fields: F) => {
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

const explainIn = before({ explain: flag() })
const pastIn = before({ at: text({ stored: false }) })

/** Whether a query asks about the past. */
const namesMoment = (asked: Query): boolean => (pastIn(asked)?.at ?? '') !== ''

const keyIn = before({ namespaceKey: text() })

const idParameter = before({ id: text({ stored: false }) })

/** The record that the parameter `id` names, if any. */
export const idInQuery = (asked: Query): string | undefined => idParameter(asked)?.id || undefined

/** The namespace that the parameter `namespaceKey` names, else every one. */
export const placeInQuery = (asked: Query): string => keyIn(asked)?.namespaceKey || EVERYWHERE

/** What a route wants by its statement, and by the queries that it takes. */
export const requiredRightsOf = (
  access: RouteAccess,
  taken: Input<unknown, Query> | undefined,
): RequiredRights | undefined => {
  if (access.credential === 'public') return undefined
  const { namespace: place, right, past, other } = access
  const parameters = taken?.schema.properties ?? {}
  const explains = 'explain' in parameters
  const looksBack = 'at' in parameters && past !== 'free'
  return {
    place,
    need: right === 'none' ? undefined : requiredRight(right),
    other: other && { ...other, ...requiredRight(other.right) },
    more: [
      ...(explains
        ? [{ ...requiredRight('flag.read'), isAsked: (asked: Query) => explainIn(asked)?.explain === true }]
        : []),
      ...(looksBack ? [{ ...requiredRight('history.read'), isAsked: namesMoment }] : []),
    ],
  }
}

/** Whether body or query name the place, or it is found by what is stored. */
export const isNamedLater = (place: RightPlace): place is Exclude<RightPlace, string | { readonly param: string }> =>
  typeof place === 'object' && !('param' in place)

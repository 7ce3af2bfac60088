import type { TokenDoc } from './tokens.ts'
import type { Match } from './views.ts'

/** Conditions on the top-level fields of a document, one per field. */
export type Where = Readonly<Record<string, Match>>

const fits = (value: string | undefined, match: Match): boolean => {
  if ('equals' in match) return match.equals.includes(value)
  if ('prefix' in match) return value?.startsWith(match.prefix) ?? false
  if (value === undefined) return match.orAbsent ?? false
  return (match.from === undefined || value >= match.from) && (match.below === undefined || value < match.below)
}

/**
 * True if a document meets the conditions, with the semantics of views. The function is for documents that are not in a
 * view.
 */
export const meets = (doc: object, where: Where): boolean => {
  for (const field in where)
    if (!fits((doc as Readonly<Record<string, string | undefined>>)[field], where[field]!)) return false
  return true
}

/** Fields that end a token. */
type Ends = Pick<TokenDoc, 'expiresAt' | 'deletedAt'>

/** Lower bound of texts after an instant. A token ends at the instant of its expiry. */
const behind = (instant: string) => `${instant}~`

/** Condition of records that lists contain by default. */
export const notDeleted: Where = { deletedAt: { equals: [undefined] } }

/**
 * Conditions of each status at an instant (RFC 3339 UTC with milliseconds). These conditions are the only definition of
 * usable tokens: exactly one status applies to a record, and only `ACTIVE` tokens are usable.
 */
export const ofStatus = {
  ACTIVE: (now) => ({ ...notDeleted, expiresAt: { from: behind(now), orAbsent: true } }),
  EXPIRED: (now) => ({ ...notDeleted, expiresAt: { below: behind(now) } }),
  DELETED: () => ({ deletedAt: { from: '' } }),
} as const satisfies Readonly<Record<string, (now: string) => Where>>

export type TokenStatus = keyof typeof ofStatus
export const STATUSES = Object.keys(ofStatus) as readonly TokenStatus[]

/** The status of a record at an instant. */
export const statusOf = (doc: Ends, now: Date): TokenStatus => {
  const instant = now.toISOString()
  return STATUSES.find((status) => meets(doc, ofStatus[status](instant)))!
}

/** Conditions of a token that is not deleted, regardless of its expiry. */
const usableAtFirst = ofStatus.ACTIVE(new Date(0).toISOString())

/** Epoch ms at which a token expires: `Infinity` if never, `-Infinity` if it was revoked or ended. */
export const usableUntil = (doc: Ends): number => {
  if (!meets(doc, usableAtFirst)) return Number.NEGATIVE_INFINITY
  return doc.expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(doc.expiresAt)
}

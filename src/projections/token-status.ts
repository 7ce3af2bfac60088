import { meets, type Where } from './match.ts'
import type { TokenDoc } from './tokens.ts'

/** What ends a token. */
type Ends = Pick<TokenDoc, 'expiresAt' | 'deletedAt'>

/** The first text behind every instant up to this one: a token ends at the instant of its expiry. */
const behind = (instant: string) => `${instant}~`

/** Records that lists show unless they are asked for others. */
export const notDeleted: Where = { deletedAt: { equals: [undefined] } }

/**
 * Whether a token may be used is said here and nowhere else: of each status, what a record meets that has it at an instant (RFC 3339 UTC
 * with milliseconds). Exactly one fits any record, and only an `ACTIVE` token may be used.
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

/** Usable before any expiry: what time alone cannot have ended. */
const usableAtFirst = ofStatus.ACTIVE(new Date(0).toISOString())

/**
 * The instant, in epoch milliseconds, from which a token is refused: `Infinity` for never, `-Infinity` for a token that
 * was revoked or ended.
 */
export const usableUntil = (doc: Ends): number => {
  if (!meets(doc, usableAtFirst)) return Number.NEGATIVE_INFINITY
  return doc.expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(doc.expiresAt)
}

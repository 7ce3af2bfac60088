import { type Because, because } from '../../access/holding.ts'
import { allowed, reachOf } from '../../access/reach.ts'
import { bitOf, type Right } from '../../access/rights.ts'
import type { AccessReason } from '../../contract/access.ts'
import { statusOf } from '../../projections/token-status.ts'
import type { TokenDoc } from '../../projections/tokens.ts'

/** Access decision about a token, with its reason. */
export type AccessDecision = { readonly allowed: boolean; readonly reason: AccessReason; readonly because?: Because }

const no = (reason: AccessReason): AccessDecision => ({ allowed: false, reason })

/** Rights of a token by its record. Logins and exchanges always use their own grants. */
export const reachOfToken = (doc: TokenDoc) => reachOf(doc, doc.method !== 'token')

/**
 * Access decision for a token's record at an instant, for a right and a namespace, by the same rules as for requests.
 */
export const accessDecisionOf = (
  doc: TokenDoc | undefined,
  right: Right,
  place: string,
  time: Date,
): AccessDecision => {
  if (!doc) return no('token_unknown')
  const status = statusOf(doc, time)
  if (status !== 'ACTIVE') return no(status === 'DELETED' ? 'token_deleted' : 'token_expired')
  if (!allowed(reachOfToken(doc), bitOf(right), place)) return no('not_granted')
  if (!doc.grants) return { allowed: true, reason: doc.namespace === undefined ? 'full_reach' : 'namespaced' }
  const by = because(doc, right, place)
  return { allowed: true, reason: 'granted', ...(by && { because: by }) }
}

import { type Because, because } from '../../access/holding.ts'
import { allowed, reachOf } from '../../access/reach.ts'
import { bitOf, type Right } from '../../access/rights.ts'
import type { AccessReason } from '../../contract/access.ts'
import { statusOf } from '../../projections/token-status.ts'
import type { TokenDoc } from '../../projections/tokens.ts'

/** Whether somebody may do something, and why. */
export type AccessDecision = { readonly allowed: boolean; readonly reason: AccessReason; readonly because?: Because }

const no = (reason: AccessReason): AccessDecision => ({ allowed: false, reason })

/** What a token by its record may do: logins and exchanges always use their own. */
export const reachOfToken = (doc: TokenDoc) => reachOf(doc, doc.method !== 'token')

/** Whether a token could do something in a place at an instant, by its record of then, decided as requests are. */
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

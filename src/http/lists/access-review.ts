import { EVERYWHERE } from '../../access/grants.ts'
import type { Right } from '../../access/rights.ts'
import type { AsOf } from '../../as-of/as-of.ts'
import type { Compiled } from '../../evaluation/compile.ts'
import { comparePlaces, placeOf, type TokenPlace } from '../../projections/token-status.ts'
import type { Access, TokenDoc } from '../../projections/tokens.ts'
import { type AccessDecision, accessDecisionOf } from '../auth/access-decision.ts'

/** Maximum number of tokens counted. */
export const COUNTED = 10_000

/**
 * Query of an access review at a moment, and the start of its page. `total` is the count from an earlier page, if any.
 */
type Review = {
  readonly right: Right
  readonly place: string
  readonly time: Date
  readonly limit: number
  readonly after: TokenPlace | undefined
  readonly total: number | undefined
}
/** A token with the right, and the access decision. */
export type Able = { readonly doc: TokenDoc; readonly verdict: AccessDecision }
/** One page of tokens in order, the total over all pages, and the number of unreadable records. */
type Found = { readonly able: readonly Able[]; readonly total: number; readonly left: number }
type Then = Pick<AsOf<Compiled>, 'tokens'>

const inOrder = comparePlaces(false)
const placeIn = (doc: TokenDoc) => placeOf(doc, 'createdAt')

const ableOf = ({ right, place, time }: Review, docs: readonly TokenDoc[]): readonly Able[] =>
  docs.flatMap((doc) => {
    const verdict = accessDecisionOf(doc, right, place, time)
    return verdict.allowed ? [{ doc, verdict }] : []
  })

/** Tokens of one kind of access; all tokens with full access qualify. */
const ofAccess = async (snapshot: Then, review: Review, access: Access): Promise<Found> => {
  const { right, place, time, limit, after } = review
  const { docs, total, left } = await snapshot.tokens({
    where: access === 'NAMESPACED' ? { namespace: { equals: [place] } } : {},
    access,
    status: 'ACTIVE',
    now: time.toISOString(),
    limit,
    count: COUNTED + 1,
    ...(access !== 'FULL' && { able: { right, place } }),
    ...(after && { after }),
  })
  return { able: ableOf(review, docs), total, left }
}

/** Active tokens with a right in a namespace at a moment, oldest first. */
export const reviewed = async (snapshot: Then, review: Review): Promise<Found> => {
  const found = [await ofAccess(snapshot, review, 'FULL'), await ofAccess(snapshot, review, 'GRANTED')]
  if (review.place !== EVERYWHERE) found.push(await ofAccess(snapshot, review, 'NAMESPACED'))
  const able = found.flatMap((one) => one.able).sort((a, b) => inOrder(placeIn(a.doc), placeIn(b.doc)))
  const total = review.total ?? found.reduce((sum, one) => sum + one.total, 0)
  return { able: able.slice(0, review.limit), total, left: Math.max(...found.map(({ left }) => left)) }
}

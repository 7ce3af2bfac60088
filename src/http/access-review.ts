import type { Right } from '../access/rights.ts'
import type { AsOf } from '../audit/as-of.ts'
import { EVERYWHERE } from '../access/grants.ts'
import type { Compiled } from '../evaluation/compile.ts'
import { comparePlaces, placeOf, type TokenPlace } from '../projections/token-order.ts'
import type { TokensWanted } from '../projections/token-past.ts'
import type { Access, TokenDoc } from '../projections/tokens.ts'
import { type Verdict, verdictOf } from './auth/verdict.ts'

/** Tokens are counted no further. */
export const COUNTED = 10_000
/** Records that are read at once where each must be asked. */
const BATCH = 250

/** What a review asks of a moment, and where its page begins; `total`: how many there are, where a page before has counted them. */
export type Review = {
  readonly right: Right
  readonly place: string
  readonly time: Date
  readonly limit: number
  readonly after: TokenPlace | undefined
  readonly total: number | undefined
}
/** A token that may, and why. */
export type Able = { readonly doc: TokenDoc; readonly verdict: Verdict }
/** Tokens in order, as many as were asked for; how many there are over all pages, and how many records cannot be read. */
type Found = { readonly able: readonly Able[]; readonly total: number; readonly left: number }
type Then = Pick<AsOf<Compiled>, 'tokens'>

const inOrder = comparePlaces(false)
const place = (doc: TokenDoc) => placeOf(doc, 'createdAt')

const usable = ({ place, time }: Review, access: Access): TokensWanted => ({
  where: access === 'NAMESPACED' ? { namespace: { equals: [place] } } : {},
  access,
  status: 'ACTIVE',
  now: time.toISOString(),
})

const ableOf = ({ right, place, time }: Review, docs: readonly TokenDoc[]): readonly Able[] =>
  docs.flatMap((doc) => {
    const verdict = verdictOf(doc, right, place, time)
    return verdict.allowed ? [{ doc, verdict }] : []
  })

/** Those of full reach: all of them may. */
const ofAll = async (then: Then, review: Review): Promise<Found> => {
  const { limit, after } = review
  const page = { limit, count: COUNTED + 1, ...(after && { after }) }
  const { docs, total, left } = await then.tokens({ ...usable(review, 'FULL'), ...page })
  return { able: ableOf(review, docs), total, left }
}

/** Those of which each must be asked: all of them where they are to be counted, else until there are enough. */
const ofEach = async (then: Then, review: Review, access: Access): Promise<Found> => {
  const { limit, after, total: known } = review
  const able: Able[] = []
  let [total, left] = [0, 0]
  for (let from = known === undefined ? undefined : after; ; ) {
    const page = await then.tokens({ ...usable(review, access), limit: BATCH, count: 1, ...(from && { after: from }) })
    left = page.left
    for (const one of ableOf(review, page.docs)) {
      total++
      if (able.length < limit && (!after || inOrder(place(one.doc), after) > 0)) able.push(one)
    }
    const isEnough = able.length >= limit && (known !== undefined || total > COUNTED)
    if (page.docs.length < BATCH || isEnough) return { able, total, left }
    from = place(page.docs.at(-1)!)
  }
}

/** The usable tokens that may do something in a place at a moment, oldest first. */
export const reviewed = async (then: Then, review: Review): Promise<Found> => {
  const found = [await ofAll(then, review), await ofEach(then, review, 'GRANTED')]
  if (review.place !== EVERYWHERE) found.push(await ofEach(then, review, 'NAMESPACED'))
  const able = found.flatMap((one) => one.able).sort((a, b) => inOrder(place(a.doc), place(b.doc)))
  const total = review.total ?? found.reduce((sum, one) => sum + one.total, 0)
  return { able: able.slice(0, review.limit), total, left: Math.max(...found.map(({ left }) => left)) }
}

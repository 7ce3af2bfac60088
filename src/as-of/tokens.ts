import { allowed, reachOf } from '../access/reach.ts'
import { reachFrom } from '../access/reach-text.ts'
import { bitOf, type Right } from '../access/rights.ts'
import { atPosition, conditionsOf, hadReach, type Parts, type TokensWanted } from '../projections/history/token-past.ts'
import { meets, type Where } from '../projections/match.ts'
import { comparePlaces, placeOf, type TokenPage, type TokenPlace, tokensInOrder } from '../projections/token-order.ts'
import { notDeleted } from '../projections/token-status.ts'
import { type TokenDoc, tokens } from '../projections/tokens.ts'
import type { Query, Row, Views } from '../projections/views.ts'

/** What a list of tokens asks for of one page, and up to which number all are counted; `closed` are the ids of records that cannot be read now. */
export type TokenListRequest = TokensWanted & TokenPage & { readonly closed: readonly string[]; readonly able?: Able }
/** Something that tokens may do, in a place. Of tokens that are bound to a namespace only that namespace may be asked about. */
export type Able = { readonly right: Right; readonly place: string }
/** Which records a page has, how many there are over all pages, and how many are left out because they cannot be read. */
export type TokenPlaces = { readonly ids: readonly string[]; readonly total: number; readonly left: number }

/** Records that are folded at once because only their streams know. */
const FOLDED = 256

type Sources = {
  readonly views: Pick<Views, 'list' | 'values'>
  /** Reads records as they stood at the moment. */
  readonly read: (ids: readonly string[]) => Promise<readonly (Row<TokenDoc> | undefined)[]>
}

/** The ids of all records that meet conditions, in pages. */
async function* inPages(views: Sources['views'], where: Where): AsyncGenerator<readonly string[]> {
  for (let after: Query['after']; ; ) {
    const { rows } = await views.list<TokenDoc>(tokens, {
      where,
      order: 'createdAt',
      limit: FOLDED,
      ...(after && { after }),
    })
    yield rows.map(({ key }) => key)
    const last = rows.at(-1)
    if (!last?.doc || rows.length < FOLDED) return
    after = { value: last.doc.createdAt, key: last.key }
  }
}

/** Reaches that are asked, one by one. Where tokens have more, each token is asked. */
const REACHES = 5_000

/** Whether tokens are able, by their reach or by what is known of them. */
const decision = ({ right, place }: Able) => {
  const bit = bitOf(right)
  return {
    byReach: (text: string) => allowed(reachFrom(text), bit, place),
    ofBound: () => allowed(reachOf({ namespace: place }), bit, place),
    byDoc: (doc: TokenDoc) => allowed(reachOf(doc, doc.method !== 'token'), bit, place),
  }
}

/** The parts of a list in which are those that are able: each different reach is asked once, and no token of which its row tells the reach. */
const ableParts = async (
  views: Pick<Views, 'values'>,
  position: bigint,
  { where, access, able }: TokenListRequest,
  parts: Parts,
): Promise<Parts> => {
  if (!able) return parts
  const { byReach, ofBound } = decision(able)
  const of = { ...where, ...(access !== undefined && { access: { equals: [access] } }), ...notDeleted }
  const texts = (await views.values(tokens, of, 'reach', REACHES + 1)).map(String)
  if (texts.length > REACHES)
    return { known: [], unknown: [...parts.unknown, ...parts.known.map(({ where }) => where)] }
  const given = texts.filter(byReach)
  const bound = access === 'NAMESPACED' && ofBound()
  return hadReach(parts, position, [...(given.length > 0 ? [given] : []), ...(bound ? [[undefined]] : [])])
}

/**
 * Tokens as they stood at a position, found by when each began, ended and changed. Only those are folded of which their rows cannot say
 * whether they belong to the list.
 */
export const tokensAt = async (
  { views, read }: Sources,
  position: bigint,
  asked: TokenListRequest,
): Promise<TokenPlaces> => {
  const { after, limit, count, closed, sort = 'createdAt', descending = false } = asked
  const inOrder = comparePlaces(descending)
  const { known, unknown } = await ableParts(views, position, asked, atPosition(asked, position, sort))
  const conditions = conditionsOf(asked)
  const isAble = asked.able ? decision(asked.able).byDoc : () => true
  const places = new Map<string, TokenPlace>()
  let [total, left] = [0, 0]
  /** A record that ends while the parts are read may be met in two of them. */
  const add = (place: TokenPlace) => {
    if (places.has(place.key)) total--
    else places.set(place.key, place)
  }

  for (const { where, expiry } of known) {
    const field = sort === 'expiresAt' ? expiry : sort
    const found = await tokensInOrder(views, where, asked, field)
    total += found.total
    for (const { doc } of found.rows) if (doc) add({ value: doc[field] ?? null, key: doc.id })
  }
  /** Folds records of which it is not known; gives those that belong to the list. */
  const folded = async (ids: readonly string[]) => {
    for (const row of await read(ids)) {
      if (row?.unreadable) left++
      else if (row?.doc && meets(row.doc, conditions) && isAble(row.doc)) {
        total++
        const place = placeOf(row.doc, sort)
        if (!after || inOrder(place, after) > 0) add(place)
      }
    }
  }
  await folded(closed)
  for (const where of unknown) for await (const ids of inPages(views, where)) await folded(ids)

  const page = [...places.values()].sort(inOrder).slice(0, limit)
  return { ids: page.map(({ key }) => key), total: Math.min(total, count), left }
}

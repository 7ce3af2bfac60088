import { allowed, reachFrom, reachOf } from '../access/reach.ts'
import { bitOf, type Right } from '../access/rights.ts'
import { atPosition, conditionsOf, hadReach, type Parts, type TokensWanted } from '../projections/history/token-past.ts'
import {
  comparePlaces,
  meets,
  notDeleted,
  placeOf,
  type TokenPage,
  type TokenPlace,
  tokensInOrder,
  type Where,
} from '../projections/token-status.ts'
import { type TokenDoc, tokens } from '../projections/tokens.ts'
import type { Query, Row, Views } from '../projections/views.ts'

/** Request for one page of tokens. `count`: limit of the total; `closed`: ids of the tokens that are unreadable now. */
export type TokenListRequest = TokensWanted & TokenPage & { readonly closed: readonly string[]; readonly able?: Able }
/**
 * A right in a namespace, for a search of tokens that have it. If a token is limited to a namespace, the search must be
 * for that namespace.
 */
export type Able = { readonly right: Right; readonly place: string }
/** Ids of a page, the total over all pages, and the number of unreadable records left out. */
export type TokenPlaces = { readonly ids: readonly string[]; readonly total: number; readonly left: number }

/** Number of token records that are read at once, if their rows do not suffice. */
const FOLDED = 256

type Sources = {
  readonly views: Pick<Views, 'list' | 'values'>
  /** Reads token records as of the moment. */
  readonly read: (ids: readonly string[]) => Promise<readonly (Row<TokenDoc> | undefined)[]>
}

/** Ids of all records that meet the conditions, in pages. */
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

/**
 * Maximum number of distinct sets of rights that are checked. If more sets of rights exist, each token is checked
 * separately.
 */
const REACHES = 5_000

/** Checks of a right: by the text of a set of rights, for tokens limited to the namespace, and by a record. */
const decision = ({ right, place }: Able) => {
  const bit = bitOf(right)
  return {
    byReach: (text: string) => allowed(reachFrom(text), bit, place),
    ofBound: () => allowed(reachOf({ namespace: place }), bit, place),
    byDoc: (doc: TokenDoc) => allowed(reachOf(doc, doc.method !== 'token'), bit, place),
  }
}

/**
 * Restricts the parts of a list to tokens with a right. Each distinct set of rights is checked once; tokens whose
 * rights are in their row are not read.
 */
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
 * Tokens as of a position, found by the positions at which each began, ended and changed. The stream of a record is
 * read only if its row cannot decide whether the record belongs to the list.
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
  /** A record that ends during the reads may be found in two parts of the list. */
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
  /** Computes records from their streams, and adds those that belong to the list. */
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

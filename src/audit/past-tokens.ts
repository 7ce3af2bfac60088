import { meets, type Where } from '../projections/match.ts'
import { atPosition, conditionsOf, type TokensWanted } from '../projections/token-past.ts'
import { type TokenDoc, tokens } from '../projections/tokens.ts'
import type { Query, Row, Views } from '../projections/views.ts'

/** One page of a list of tokens, and how many there are over all pages, counted up to `count`. */
export type TokensAsked = TokensWanted & Pick<Query, 'after' | 'limit'> & { readonly count: number }
export type TokensPage = { readonly docs: readonly TokenDoc[]; readonly total: number; readonly left: number }

/** Records that are folded at once because only their streams know. */
const FOLDED = 256

type Sources = {
  readonly views: Pick<Views, 'list'>
  /** Reads records as they stood at the moment. */
  readonly read: (ids: readonly string[]) => Promise<readonly (Row<TokenDoc> | undefined)[]>
  /** The ids of records that cannot be read now. */
  readonly closed: readonly string[]
}

/** A record by its place in the list, folded or not yet. */
type Place = { readonly createdAt: string; readonly id: string; readonly doc?: TokenDoc }

const isBehind = ({ createdAt, id }: Place, after: Query['after']): boolean =>
  after === undefined || createdAt > after.value || (createdAt === after.value && id > after.key)
const inOrder = (one: Place, other: Place): number =>
  isBehind(one, { value: other.createdAt, key: other.id }) ? 1 : -1

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

/**
 * Tokens as they stood at a position, found by when each began, ended and changed. Only the records of the page are folded, and those of
 * which their rows cannot say whether they belong to the list.
 */
export const tokensAt = async (
  { views, read, closed }: Sources,
  position: bigint,
  asked: TokensAsked,
): Promise<TokensPage> => {
  const { after, limit, count } = asked
  const { known, unknown } = atPosition(asked, position)
  const conditions = conditionsOf(asked)
  const places: Place[] = []
  let [total, left] = [0, 0]

  for (const where of known) {
    const found = await views.list<TokenDoc>(tokens, {
      where,
      order: 'createdAt',
      limit,
      count,
      ...(after && { after }),
    })
    total += found.total
    for (const { doc } of found.rows) if (doc) places.push({ createdAt: doc.createdAt, id: doc.id })
  }
  /** Folds records of which it is not known; gives those that belong to the list. */
  const folded = async (ids: readonly string[]) => {
    for (const row of await read(ids)) {
      if (row?.unreadable) left++
      else if (row?.doc && meets(row.doc, conditions)) {
        total++
        if (isBehind(row.doc, after)) places.push({ createdAt: row.doc.createdAt, id: row.key, doc: row.doc })
      }
    }
  }
  await folded(closed)
  if (unknown) for await (const ids of inPages(views, unknown)) await folded(ids)

  const page = places.sort(inOrder).slice(0, limit)
  const rows = await read(page.filter(({ doc }) => !doc).map(({ id }) => id))
  const docs = new Map(rows.flatMap((row) => (row?.doc ? [[row.key, row.doc] as const] : [])))
  return {
    docs: page.flatMap(({ id, doc = docs.get(id) }) => doc ?? []),
    total: Math.min(total, count),
    left,
  }
}

import type { Where } from './match.ts'
import { type TokenDoc, tokens } from './tokens.ts'
import { KEY, type Match, type Query, type Row, type Views } from './views.ts'

/** What a list of tokens may be sorted by. Records without it come last, whichever way the list goes; among equals the id decides. */
export type TokenSort = 'createdAt' | 'expiresAt' | 'name'
/** Place of a record in a list: what it is sorted by, null where it has none, and its id. */
export type TokenPlace = { readonly value: string | null; readonly key: string }
/** One page of a list, from just behind a place, and up to which number all are counted. */
export type TokenPage = Pick<Query, 'descending' | 'limit'> & {
  readonly sort?: TokenSort
  readonly after?: TokenPlace
  readonly count: number
}

/** Place of a record in a list. */
export const placeOf = (doc: TokenDoc, sort: TokenSort): TokenPlace => ({ value: doc[sort] ?? null, key: doc.id })

/** Compares texts as views do: by code points. */
const compare = (one: string, other: string): number =>
  one === other ? 0 : Buffer.from(one).compare(Buffer.from(other))

/** Compares two places of a list. */
export const comparePlaces =
  (descending: boolean) =>
  (one: TokenPlace, other: TokenPlace): number => {
    if ((one.value === null) !== (other.value === null)) return one.value === null ? 1 : -1
    const ascending = compare(one.value ?? '', other.value ?? '') || compare(one.key, other.key)
    return descending ? -ascending : ascending
  }

const absent: Match = { equals: [undefined] }

/** Which method alone the conditions are of, where there is one. */
const onlyMethod = ({ method }: Where) =>
  method && 'equals' in method && method.equals.length === 1 ? method.equals[0] : undefined

/** The conditions of those that lack a field; undefined where what is asked of it needs it. */
const lacking = (where: Where, field: string): Where | undefined => {
  const asked = where[field]
  if (asked && !('orAbsent' in asked && asked.orAbsent)) return undefined
  return { ...where, [field]: absent, createdAt: { from: '' } }
}

/** The parts of a list: what has the field that it is sorted by, and what lacks it. Every static token has a name, and nothing else has one. */
const partsOf = (where: Where, field: string) => {
  if (field === 'createdAt') return { having: where, lacking: undefined }
  const method = field === 'name' ? onlyMethod(where) : undefined
  if (method === undefined) return { having: where, lacking: lacking(where, field) }
  const { method: _, ...others } = where
  return method === 'token'
    ? { having: others, lacking: undefined }
    : { having: undefined, lacking: where['name'] ? undefined : where }
}

/** One page of the records that meet conditions, in order, and how many there are over all pages. `field` is where the view has what they are sorted by. */
export const tokensInOrder = async (
  views: Pick<Views, 'list'>,
  where: Where,
  { sort = 'createdAt', descending = false, after, limit, count }: TokenPage,
  field: keyof TokenDoc = sort,
): Promise<{ readonly rows: readonly Row<TokenDoc>[]; readonly total: number }> => {
  const parts = partsOf(where, field)
  const isPast = after?.value === null
  const rows: Row<TokenDoc>[] = []
  let total = 0
  const add = async (part: Where | undefined, order: string, behind: Query['after'], room: number) => {
    if (!part) return
    // Those of a part that is full or past are only counted.
    const query = { where: part, order, descending, limit: Math.max(room, 1), count, ...(behind && { after: behind }) }
    const found = await views.list<TokenDoc>(tokens, query)
    rows.push(...found.rows.slice(0, room))
    total += found.total
  }
  await add(
    parts.having,
    field,
    after?.value == null ? undefined : { value: after.value, key: after.key },
    isPast ? 0 : limit,
  )
  await add(parts.lacking, KEY, isPast ? { value: after.key, key: after.key } : undefined, limit - rows.length)
  return { rows, total: Math.min(total, count) }
}

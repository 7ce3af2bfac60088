import { type TokenDoc, tokens } from './tokens.ts'
import { KEY, type Match, type Query, type Row, type Views } from './views.ts'

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

/** Sort fields of token lists. Records without the field come last in both directions; ties are ordered by id. */
export type TokenSort = 'createdAt' | 'expiresAt' | 'name'
/** Position of a record in a list: the value of its sort field (null if absent), and its id. */
export type TokenPlace = { readonly value: string | null; readonly key: string }
/** One page of a list, starting after `after`. `count`: limit of the total. */
export type TokenPage = Pick<Query, 'descending' | 'limit'> & {
  readonly sort?: TokenSort
  readonly after?: TokenPlace
  readonly count: number
}

/** Position of a record in a list. */
export const placeOf = (doc: TokenDoc, sort: TokenSort): TokenPlace => ({ value: doc[sort] ?? null, key: doc.id })

/** Compares texts like views: by code points. */
const compare = (one: string, other: string): number =>
  one === other ? 0 : Buffer.from(one).compare(Buffer.from(other))

/** Compares two positions of a list. */
export const comparePlaces =
  (descending: boolean) =>
  (one: TokenPlace, other: TokenPlace): number => {
    if ((one.value === null) !== (other.value === null)) return one.value === null ? 1 : -1
    const ascending = compare(one.value ?? '', other.value ?? '') || compare(one.key, other.key)
    return descending ? -ascending : ascending
  }

const absent: Match = { equals: [undefined] }

/** The only method that the conditions allow; undefined if there are several. */
const onlyMethod = ({ method }: Where) =>
  method && 'equals' in method && method.equals.length === 1 ? method.equals[0] : undefined

/** Conditions for records without a field; undefined if the conditions require the field. */
const lacking = (where: Where, field: string): Where | undefined => {
  const asked = where[field]
  if (asked && !('orAbsent' in asked && asked.orAbsent)) return undefined
  return { ...where, [field]: absent, createdAt: { from: '' } }
}

/**
 * Parts of a list: records with the sort field, and records without it. Static tokens always have a name, other tokens
 * never.
 */
const partsOf = (where: Where, field: string) => {
  if (field === 'createdAt') return { having: where, lacking: undefined }
  const method = field === 'name' ? onlyMethod(where) : undefined
  if (method === undefined) return { having: where, lacking: lacking(where, field) }
  const { method: _, ...others } = where
  return method === 'token'
    ? { having: others, lacking: undefined }
    : { having: undefined, lacking: where['name'] ? undefined : where }
}

/**
 * Returns one sorted page of the records that meet the conditions, and the total over all pages. `field`: field of the
 * view that has the sort value.
 */
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
    // Records that are not on this page are only counted.
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

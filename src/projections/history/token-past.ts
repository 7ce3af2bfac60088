import type { Where } from '../match.ts'
import type { TokenSort } from '../token-order.ts'
import { notDeleted, ofStatus, type TokenStatus } from '../token-status.ts'
import type { Access } from '../tokens.ts'

/** What a list of tokens asks for: conditions on what never changes, the status and the access wanted, and the present of the moment (RFC 3339 UTC). */
export type TokensWanted = {
  readonly where: Where
  readonly status: TokenStatus | undefined
  readonly access?: Access | undefined
  readonly now: string
}

/** All conditions on a record as it stood at the moment. */
export const conditionsOf = ({ where, status, access, now }: TokensWanted): Where => ({
  ...where,
  ...(access !== undefined && { access: { equals: [access] } }),
  ...(status === undefined ? notDeleted : ofStatus[status](now)),
})

/** Records that belong to a list, and where their expiry of then stands now. */
type Known = { readonly where: Where; readonly expiry: 'expiresAt' | 'previousExpiry' }

const asNow = (where: Where): Known => ({ where, expiry: 'expiresAt' })

/** What records meet now that had an access before a position, in parts without a record in common: a token may lose its full reach once, and nothing else of this changes. */
const hadAccess = (access: Access | undefined, behind: number): readonly Where[] => {
  if (access === undefined) return [{}]
  const [has, granted] = [{ access: { equals: [access] } }, { access: { equals: ['GRANTED'] } }]
  if (access === 'FULL') return [has, { ...granted, fullUntil: { from: behind } }]
  return [access === 'GRANTED' ? { ...granted, fullUntil: { below: behind, orAbsent: true } } : has]
}

/** The same of one part of the records, those that meet `access`. */
const ofPart = (
  wanted: TokensWanted,
  behind: number,
  access: Where,
  sort: TokenSort,
): { readonly known: readonly Known[]; readonly unknown?: Where } => {
  const before = { below: behind } as const
  const [later, notYet] = [{ from: behind }, { from: behind, orAbsent: true }] as const
  const notLater = { below: behind, orAbsent: true } as const
  const base: Where = { ...wanted.where, ...access, began: before }
  const gone: Where = { ...base, deletedAt: { from: '' } }
  const ended: Where = { ...gone, ended: before }
  const isGone = wanted.status === 'DELETED'
  const byExpiry = sort === 'expiresAt'
  if (isGone && !byExpiry) return { known: [asNow(ended)] }
  const unknown: Where = { ...(isGone ? ended : base), changed: later, changedBefore: later }
  const expiresAt = conditionsOf(wanted)['expiresAt']
  const there: readonly Where[] = isGone
    ? [ended]
    : [
        { ...base, ...notDeleted },
        { ...gone, ended: later },
      ]
  if (!expiresAt && !byExpiry) return { known: there.map((one) => asNow({ ...one, changedBefore: notLater })), unknown }
  const still = there.map((one) => asNow({ ...one, ...(expiresAt && { expiresAt }), changed: notLater }))
  const changed = { ...base, changed: later, changedBefore: notLater, ended: isGone ? before : notYet }
  const asBefore = { ...changed, ...(expiresAt && { previousExpiry: expiresAt }) }
  return { known: [...still, { where: asBefore, expiry: 'previousExpiry' }], unknown }
}

/** Parts of the records of a list, without a record in common. */
export type Parts = { readonly known: readonly Known[]; readonly unknown: readonly Where[] }

/**
 * What records meet now of which a list at a position holds: `known`, those that all belong to it; and `unknown`, those of which only their
 * streams can say it, because their expiry has changed more than once since.
 */
export const atPosition = (wanted: TokensWanted, position: bigint, sort: TokenSort = 'createdAt'): Parts => {
  const behind = Number(position) + 1
  const parts = hadAccess(wanted.access, behind).map((access) => ofPart(wanted, behind, access, sort))
  return {
    known: parts.flatMap(({ known }) => known),
    unknown: parts.flatMap(({ unknown }) => (unknown ? [unknown] : [])),
  }
}

const isDeleted = ({ deletedAt }: Where): boolean => deletedAt !== undefined && 'from' in deletedAt

/**
 * The same of those alone that had one of these reaches (undefined: none of their own). What has ended since, and what was narrowed since, may
 * have had any.
 */
export const hadReach = (
  { known, unknown }: Parts,
  position: bigint,
  reaches: readonly (readonly (string | undefined)[])[],
): Parts => {
  const behind = Number(position) + 1
  const [gone, there] = [known.filter(({ where }) => isDeleted(where)), known.filter(({ where }) => !isDeleted(where))]
  const narrowed = { below: behind, orAbsent: true }
  return {
    known: there.flatMap(({ where, expiry }) =>
      reaches.map((equals) => ({ where: { ...where, reach: { equals }, narrowed }, expiry })),
    ),
    unknown: [
      ...unknown,
      ...gone.map(({ where }) => where),
      ...there.map(({ where }) => ({ ...where, narrowed: { from: behind } })),
    ],
  }
}

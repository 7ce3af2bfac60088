import { notDeleted, ofStatus, type TokenSort, type TokenStatus, type Where } from '../token-status.ts'
import type { Access } from '../tokens.ts'

/**
 * Request of a token list: conditions on immutable fields, the status and access, and the time of the moment (RFC 3339
 * UTC).
 */
export type TokensWanted = {
  readonly where: Where
  readonly status: TokenStatus | undefined
  readonly access?: Access | undefined
  readonly now: string
}

/** All conditions on a record as of the moment. */
export const conditionsOf = ({ where, status, access, now }: TokensWanted): Where => ({
  ...where,
  ...(access !== undefined && { access: { equals: [access] } }),
  ...(status === undefined ? notDeleted : ofStatus[status](now)),
})

/** Conditions for records of the list, and the field that now has their expiry at the past moment. */
type Known = { readonly where: Where; readonly expiry: 'expiresAt' | 'previousExpiry' }

const asNow = (where: Where): Known => ({ where, expiry: 'expiresAt' })

/**
 * Present conditions for records with an access before a position, in disjoint parts. A token loses full access at most
 * once; other changes of access are impossible.
 */
const hadAccess = (access: Access | undefined, behind: number): readonly Where[] => {
  if (access === undefined) return [{}]
  const [has, granted] = [{ access: { equals: [access] } }, { access: { equals: ['GRANTED'] } }]
  if (access === 'FULL') return [has, { ...granted, fullUntil: { from: behind } }]
  return [access === 'GRANTED' ? { ...granted, fullUntil: { below: behind, orAbsent: true } } : has]
}

/** The parts of the records that meet `access`. */
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

/** Disjoint parts of the records of a list. */
export type Parts = { readonly known: readonly Known[]; readonly unknown: readonly Where[] }

/**
 * Present conditions for the records of a list at a position. `known`: records that belong to the list. `unknown`:
 * records whose streams must be read, because their expiry has changed more than once since.
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
 * Restricts the parts to records with one of these reaches (undefined: no reach of their own). Records that have ended
 * or lost rights since then may have had any rights, so they become unknown.
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

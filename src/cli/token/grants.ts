import { InvalidArgumentError } from 'commander'
import { EVERYWHERE, grantText, type Read, readGrant, readRights } from '../../access/grants.ts'
import { isRight } from '../../access/rights.ts'
import type { TokenRequest } from '../../app/offline/offline.ts'
import type { GrantAsked } from '../../contract/grants.ts'
import type { Authentication } from '../../contract/token.ts'

type Shown = NonNullable<Authentication['grants']>[number]

const gathered = (read: Read, others: readonly GrantAsked[]): readonly GrantAsked[] => {
  if ('wrong' in read) throw new InvalidArgumentError(`It ${read.wrong}.`)
  const { place: namespaceKey, role, rights } = read.grant
  return [...others, { namespaceKey, role, rights: rights?.filter(isRight) }]
}

/** Collects grants of the form `ROLE@NAMESPACE` from a repeatable option. */
export const roleAt = (text: string, others: readonly GrantAsked[] = []): readonly GrantAsked[] =>
  gathered(readGrant(text), others)

/** Collects grants of the form `RIGHT,RIGHT@NAMESPACE` from a repeatable option. */
export const rightsAt = (text: string, others: readonly GrantAsked[] = []): readonly GrantAsked[] =>
  gathered(readRights(text), others)

const byText = (a: string, b: string): number => (a < b ? -1 : 1)
/** Canonical text of a grant, independent of the order of its rights. */
const grantWords = ({ namespaceKey: place, role, rights = [] }: GrantAsked | Shown): string =>
  role === undefined ? grantText({ place, rights: rights.toSorted(byText) }) : grantText({ place, role })

/**
 * Difference between the requested grants and those of a record; undefined if there is none. Older services ignore
 * grants.
 */
export const grantsDiffer = (
  { role, grants, namespaceKey }: Pick<TokenRequest, 'role' | 'grants' | 'namespaceKey'>,
  record: Pick<Authentication, 'grants'>,
): string | undefined => {
  const due = role === undefined ? grants : [{ namespaceKey: namespaceKey ?? EVERYWHERE, role, rights: undefined }]
  const [requested, issued] = [due, record.grants].map((all) => (all ?? []).map(grantWords).join(' '))
  return requested === issued ? undefined : `Requested: ${requested || 'no grants'}; issued: ${issued || 'no grants'}.`
}

import { EVERYWHERE, meaningsIn } from '../../access/grants.ts'
import type { Reach } from '../../access/reach.ts'
import { isRight } from '../../access/rights.ts'
import type { Meanings } from '../../access/roles.ts'
import { exceeding } from '../../access/within.ts'
import { invalid, type Refusal } from '../../base/errors.ts'
import { member } from '../../contract/readers/input.ts'
import type { Raw } from '../../contract/readers/value.ts'
import type { NewToken } from '../../contract/token.ts'
import type { DataOf } from '../../events/define.ts'
import type { TokenEvent } from '../../events/token.ts'
import type { TokenGrant } from './issue-token.ts'
import { beyondOwn } from './permission-errors.ts'

type RequestedAccess = Pick<NewToken, 'role' | 'grants' | 'namespaceKey'>

type HeldAtFirst = Pick<DataOf<TokenEvent, 'TokenIssued'>, 'grants' | 'roles' | 'namespace'>

/**
 * Access of a requested static token: its grants with the current meaning of their roles, and its namespace (api.md
 * §5.4 A7).
 */
const holdingAsked = ({ role, grants, namespaceKey }: RequestedAccess, meanings: Meanings): HeldAtFirst => {
  const namespace = namespaceKey === '' ? {} : { namespace: namespaceKey }
  const ofRole =
    role === undefined ? undefined : [{ namespaceKey: namespace.namespace ?? EVERYWHERE, role, rights: undefined }]
  const given = (grants ?? ofRole)?.map(({ namespaceKey: place, role, rights }) => ({
    place,
    ...(role !== undefined && { role }),
    ...(rights && { rights }),
  }))
  if (!given) return namespace
  const roles = meaningsIn(given, meanings)
  return { ...namespace, grants: given, ...(Object.keys(roles).length > 0 && { roles }) }
}

/** Refuses an expiry that is not in the future. */
export const inFuture = ({ expiresAt }: NewToken, now: () => Date): void => {
  if (expiresAt !== undefined && expiresAt <= now().toISOString()) invalid('expiresAt', 'must be in the future')
}

/** Namespaces named in a requested token; each must exist. */
export const namespacesAsked = ({ namespaceKey, grants = [] }: NewToken): ReadonlySet<string> =>
  new Set(
    [namespaceKey, ...grants.map((grant) => grant.namespaceKey)].filter((key) => key !== '' && key !== EVERYWHERE),
  )

/** The requested static token (api.md §5.4 A7), with the current meaning of its role. */
export const staticToken = (asked: NewToken, meanings: Meanings): TokenGrant => {
  const { name, description, expiresAt, namespaceKey, metadata } = asked
  return {
    method: 'token',
    ...(expiresAt !== undefined && { expiresAt }),
    ...holdingAsked(asked, meanings),
    attributes: {
      'token.name': name,
      ...(description !== '' && { 'token.description': description }),
      ...(namespaceKey !== '' && { 'token.namespace': namespaceKey }),
    },
    metadata,
  }
}

const isRaw = (value: unknown): value is Raw => typeof value === 'object' && value !== null && !Array.isArray(value)
const textIn = (raw: Raw, name: string): string => {
  const value = member(raw, name)
  return typeof value === 'string' ? value.trim() : ''
}
const roleIn = (raw: Raw, meanings: Meanings): string | undefined => {
  const role = member(raw, 'role')
  return typeof role === 'string' && Object.hasOwn(meanings, role) ? role : undefined
}
const grantIn = (raw: Raw, meanings: Meanings): NonNullable<RequestedAccess['grants']>[number] => {
  const rights = member(raw, 'rights')
  return {
    namespaceKey: textIn(raw, 'namespaceKey'),
    role: roleIn(raw, meanings),
    rights: Array.isArray(rights) ? rights.filter((right) => typeof right === 'string').filter(isRight) : undefined,
  }
}

/** Namespace of a requested token, else `*`. */
export const placeAsked = (raw: Raw): string => textIn(raw, 'namespaceKey') || EVERYWHERE

/**
 * The part of the access requested in a body that this version can read. The field rules refuse the other parts, which
 * grant no rights here.
 */
const readable = (raw: Raw, meanings: Meanings): RequestedAccess => {
  const [role, grants] = [member(raw, 'role'), member(raw, 'grants')]
  const namespaceKey = textIn(raw, 'namespaceKey')
  if (role === undefined && grants === undefined) return { role: undefined, grants: undefined, namespaceKey }
  const known = roleIn(raw, meanings)
  const all = Array.isArray(grants) ? grants.filter(isRaw).map((grant) => grantIn(grant, meanings)) : []
  const placed = all.filter((grant) => grant.namespaceKey !== '')
  const ofRole = known === undefined ? [] : [{ namespaceKey: placeAsked(raw), role: known, rights: undefined }]
  return { role: undefined, grants: [...placed, ...ofRole], namespaceKey }
}

/** Refuses a body that requests a token with access beyond its creator's, by the names in it alone. */
export const exceedsOwn =
  (meanings: Meanings) =>
  (raw: Raw, creator: Reach): Refusal | undefined => {
    const more = exceeding(creator, holdingAsked(readable(raw, meanings), meanings))
    return more && beyondOwn(more)
  }

import type { Grant } from '../access/grants.ts'
import { reachOf, reachText } from '../access/reach.ts'
import type { Meanings } from '../access/roles.ts'
import { type DataOf, reader } from '../events/define.ts'
import { type Method, type TokenEvent, tokenEvents } from '../events/token.ts'
import type { At, Projection } from './projection.ts'
import type { Index } from './views.ts'

/** Searchable fields of token records. */
const fields = [
  'digest',
  'fingerprint',
  'method',
  'namespace',
  'name',
  'createdAt',
  'expiresAt',
  'deletedAt',
  'identity',
  'provider',
  'subject',
  'providerSession',
  'issuedBy',
  'began',
  'ended',
  'changed',
  'changedBefore',
  'previousExpiry',
  'reach',
  'policy',
  'access',
  'fullUntil',
  'narrowed',
] as const

/** Indexes of token records. Most searches exclude deleted records, which soon are the majority. */
const indexes: readonly Index[] = [
  { by: ['digest'] },
  { by: ['fingerprint'] },
  {
    by: ['reach'],
    lacking: 'deletedAt',
    also: [
      'access',
      'namespace',
      'createdAt',
      'expiresAt',
      'began',
      'changed',
      'changedBefore',
      'narrowed',
      'fullUntil',
    ],
  },
  { by: ['identity', 'deletedAt', 'createdAt'], also: ['provider', 'subject'] },
  { by: ['issuedBy', 'deletedAt', 'createdAt'] },
  { by: ['providerSession', 'createdAt'], lacking: 'deletedAt', also: ['provider', 'expiresAt'] },
  { by: ['method', 'expiresAt'], lacking: 'deletedAt', also: ['createdAt', 'namespace'] },
  { by: ['expiresAt'], lacking: 'deletedAt', also: ['createdAt', 'namespace'] },
  { by: ['name'], lacking: 'deletedAt', also: ['createdAt', 'namespace', 'method', 'expiresAt'] },
  { by: ['namespace', 'createdAt'], lacking: 'deletedAt', also: ['method', 'expiresAt'] },
  { by: ['method', 'createdAt'], lacking: 'deletedAt', also: ['namespace', 'expiresAt'] },
  { by: ['access', 'createdAt'], having: 'fullUntil', also: ['fullUntil', 'deletedAt', 'ended', 'began'] },
  { by: ['access', 'createdAt'], lacking: 'deletedAt', also: ['method', 'namespace', 'expiresAt'] },
  { by: ['createdAt'], lacking: 'deletedAt', also: ['expiresAt', 'began', 'changed', 'changedBefore'] },
  {
    by: ['createdAt'],
    having: 'deletedAt',
    also: ['deletedAt', 'method', 'namespace', 'ended', 'began', 'expiresAt', 'changed', 'changedBefore'],
  },
  { by: ['createdAt'], having: 'changed', also: ['changed', 'changedBefore', 'previousExpiry', 'ended', 'began'] },
  { by: ['method', 'expiresAt'], having: 'deletedAt', also: ['createdAt', 'namespace', 'deletedAt'] },
  { by: ['name'], having: 'deletedAt', also: ['createdAt', 'namespace', 'deletedAt'] },
  { by: ['deletedAt', 'method'] },
  // Tokens that cannot be found by their SHA-256.
  { by: ['createdAt'], lacking: 'fingerprint' },
]

/** Kinds of access: all rights everywhere, bound to one namespace, or by grants. */
export const ACCESSES = ['FULL', 'NAMESPACED', 'GRANTED'] as const
export type Access = (typeof ACCESSES)[number]

/** An authentication record; deleted ones remain. Times are RFC 3339 UTC with milliseconds. */
export type TokenDoc = {
  readonly id: string
  readonly digest: string
  /** Keyed digest of the SHA-256 of the secret; absent: issued by a version without fingerprints. */
  readonly fingerprint?: string
  /** Last four characters of the secret of a static token. */
  readonly ending?: string
  readonly method: Method
  readonly createdAt: string
  readonly updatedAt: string
  readonly expiresAt?: string
  readonly deletedAt?: string
  readonly namespace?: string
  /** Name of a static token in lower case, for searches; absent for other tokens. */
  readonly name?: string
  readonly attributes: Readonly<Record<string, string>>
  readonly metadata: Readonly<Record<string, string>>
  readonly provider?: string
  readonly subject?: string
  /** Equal for all tokens of one holder: the given name, a service account, or the pseudonym of a person. */
  readonly identity?: string
  /** Pseudonym of the session at the provider, for a login through OpenID Connect. */
  readonly providerSession?: string
  /** Sealed. */
  readonly profile?: string
  /** Token that requested this one. */
  readonly issuedBy?: string
  readonly grants?: readonly Grant[]
  readonly roles?: Meanings
  /** Number of the access configuration of the grants. */
  readonly policy?: number
  /** Text of the rights that the grants give; absent without grants or with full access. */
  readonly reach?: string
  readonly access: Access
  /** Positions of the events that issued and ended the token. */
  readonly began: number
  readonly ended?: number
  /** Positions of the last change of the expiry and of the one before, and the expiry before the last change. */
  readonly changed?: number
  readonly changedBefore?: number
  readonly previousExpiry?: string
  /** Position at which the token lost full access. */
  readonly fullUntil?: number
  /** Position at which the grants were last narrowed. */
  readonly narrowed?: number
}

type HeldAccess = Pick<TokenDoc, 'method' | 'grants' | 'roles'> & { readonly namespace?: string | undefined }

/** Text of the rights of the grants of a token. A token from a login or an exchange may always use its own record. */
export const grantedReach = ({ method, namespace, grants, roles }: HeldAccess): string =>
  reachText(reachOf({ grants, roles, namespace }, method !== 'token'))

/** Fields of a record that contain the rights of a token. */
const reaching = (held: HeldAccess): Pick<TokenDoc, 'reach' | 'access'> => {
  const reach = held.grants === undefined ? '' : grantedReach(held)
  if (held.namespace !== undefined) return { access: 'NAMESPACED', ...(held.grants && { reach }) }
  return reach === '' ? { access: 'FULL' } : { access: 'GRANTED', reach }
}

/** Copies the fields one by one, because spreading makes a rebuild of a million tokens three times as slow. */
const issued = (token: DataOf<TokenEvent, 'TokenIssued'>, { time, position }: At): TokenDoc => {
  const doc: { -readonly [K in keyof TokenDoc]: TokenDoc[K] } = {
    id: token.id,
    digest: token.digest,
    method: token.method,
    createdAt: time,
    updatedAt: time,
    attributes: token.attributes,
    metadata: token.metadata,
    access: token.namespace === undefined ? 'FULL' : 'NAMESPACED',
    began: Number(position),
  }
  if (token.fingerprint !== undefined) doc.fingerprint = token.fingerprint
  if (token.ending !== undefined) doc.ending = token.ending
  if (token.expiresAt !== undefined) doc.expiresAt = token.expiresAt
  if (token.namespace !== undefined) doc.namespace = token.namespace
  if (token.provider !== undefined) doc.provider = token.provider
  if (token.subject !== undefined) doc.subject = token.subject
  if (token.providerSession !== undefined) doc.providerSession = token.providerSession
  if (token.profile !== undefined) doc.profile = token.profile
  if (token.issuedBy !== undefined) doc.issuedBy = token.issuedBy
  if (token.grants !== undefined) Object.assign(doc, { grants: token.grants }, reaching(token))
  if (token.roles !== undefined) doc.roles = token.roles
  if (token.policy !== undefined) doc.policy = token.policy
  const name = token.attributes['token.name']
  if (token.method === 'token') doc.name = (name ?? '').toLowerCase()
  const holder = name ?? token.identity
  if (holder !== undefined) doc.identity = holder
  return doc
}

const ended = (doc: TokenDoc, { time, position, closed }: At): TokenDoc => {
  const at = Number(position)
  // Earlier changes are only in the stream of the token.
  const unknown = closed ? { changed: at, changedBefore: at } : {}
  return { ...doc, ...unknown, deletedAt: time, updatedAt: time, ended: doc.ended ?? at }
}

const narrowed = (
  { reach: _reach, ...doc }: TokenDoc,
  { to: { grants, roles }, policy }: DataOf<TokenEvent, 'TokenGrantsNarrowed'>,
  { time, position }: At,
): TokenDoc => {
  const now = reaching({ ...doc, grants, roles })
  const wasFull = doc.access === 'FULL' && now.access !== 'FULL'
  const at = Number(position)
  return { ...doc, grants, roles, policy, ...now, ...(wasFull && { fullUntil: at }), narrowed: at, updatedAt: time }
}

/** Read model of the tokens, including deleted ones. */
export const tokens: Projection<TokenDoc, TokenEvent> = {
  name: 'tokens',
  version: 11,
  fields,
  indexes,
  category: 'token',
  read: reader(tokenEvents),
  ends: new Set(['TokenRevoked', 'TokenExpired']),
  clue: (json) => /"digest":"([^"\\]+)"/.exec(json)?.[1],
  on: {
    TokenIssued: (_, token, at) => issued(token, at),
    TokenExpiryChanged: (doc, { to }, { time, position }) =>
      doc && {
        ...doc,
        ...(doc.changed !== undefined && { changedBefore: doc.changed }),
        ...(doc.expiresAt !== undefined && { previousExpiry: doc.expiresAt }),
        expiresAt: to,
        updatedAt: time,
        changed: Number(position),
      },
    TokenGrantsNarrowed: (doc, to, at) => doc && narrowed(doc, to, at),
    TokenRevoked: (doc, _, at) => doc && ended(doc, at),
    TokenExpired: (doc, _, at) => doc && ended(doc, at),
  },
}

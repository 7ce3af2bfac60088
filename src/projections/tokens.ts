import type { Grant } from '../access/grants.ts'
import { reachOf } from '../access/reach.ts'
import { reachText } from '../access/reach-text.ts'
import type { Meanings } from '../access/roles.ts'
import { type DataOf, reader } from '../events/define.ts'
import { type Method, type TokenEvent, tokenEvents } from '../events/token.ts'
import type { At, Projection } from './projection.ts'
import { fields, indexes } from './token-fields.ts'

/** How far a token reaches: everywhere with every right, as tokens of one namespace do, or by its grants. */
export const ACCESSES = ['FULL', 'NAMESPACED', 'GRANTED'] as const
export type Access = (typeof ACCESSES)[number]

/**
 * One authentication record, deleted ones too. Times are RFC 3339 UTC with milliseconds. `profile` is sealed. `name` is
 * a static token's name in lower case, for searches; nothing else has one. `identity` is the same for all tokens of one holder: the name as
 * given, a service account, or a person's pseudonym. `issuedBy` is the token that asked for this one.
 * `began` and `ended` are positions in the log, `changed` and `changedBefore` those of the last change of the expiry and
 * of the one before it, and `previousExpiry` is what it was before the last: by them a list at a moment is found. `fullUntil` is the position at which it lost its full reach.
 * `narrowed` is the position at which its grants were last narrowed. `reach` is the text of what its grants give, absent where it has none or reaches everything; `policy` the configuration of access that they are of.
 */
export type TokenDoc = {
  readonly id: string
  readonly digest: string
  readonly method: Method
  readonly createdAt: string
  readonly updatedAt: string
  readonly expiresAt?: string
  readonly deletedAt?: string
  readonly namespace?: string
  readonly name?: string
  readonly attributes: Readonly<Record<string, string>>
  readonly metadata: Readonly<Record<string, string>>
  readonly provider?: string
  readonly subject?: string
  readonly identity?: string
  readonly profile?: string
  readonly issuedBy?: string
  readonly grants?: readonly Grant[]
  readonly roles?: Meanings
  readonly policy?: number
  readonly reach?: string
  readonly access: Access
  readonly began: number
  readonly ended?: number
  readonly changed?: number
  readonly changedBefore?: number
  readonly previousExpiry?: string
  readonly fullUntil?: number
  readonly narrowed?: number
}

type HeldAccess = Pick<TokenDoc, 'method' | 'namespace' | 'grants' | 'roles'>

/** What the grants of a token say of its reach. */
const reaching = ({ method, namespace, grants, roles }: HeldAccess): Pick<TokenDoc, 'reach' | 'access'> => {
  const reach = grants === undefined ? '' : reachText(reachOf({ grants, roles, namespace }, method !== 'token'))
  if (namespace !== undefined) return { access: 'NAMESPACED', ...(grants && { reach }) }
  return reach === '' ? { access: 'FULL' } : { access: 'GRANTED', reach }
}

/** Member by member: spreading would take a rebuild of a million tokens three times as long. */
const issued = (token: DataOf<TokenEvent, 'TokenIssued'>, { time, position }: At): TokenDoc => {
  const {
    id,
    digest,
    method,
    attributes,
    metadata,
    expiresAt,
    namespace,
    provider,
    subject,
    identity,
    profile,
    issuedBy,
    grants,
    roles,
    policy,
  } = token
  const doc: { -readonly [K in keyof TokenDoc]: TokenDoc[K] } = {
    id,
    digest,
    method,
    createdAt: time,
    updatedAt: time,
    attributes,
    metadata,
    access: namespace === undefined ? 'FULL' : 'NAMESPACED',
    began: Number(position),
  }
  if (expiresAt !== undefined) doc.expiresAt = expiresAt
  if (namespace !== undefined) doc.namespace = namespace
  if (provider !== undefined) doc.provider = provider
  if (subject !== undefined) doc.subject = subject
  if (profile !== undefined) doc.profile = profile
  if (issuedBy !== undefined) doc.issuedBy = issuedBy
  if (grants !== undefined) Object.assign(doc, { grants }, reaching(token))
  if (roles !== undefined) doc.roles = roles
  if (policy !== undefined) doc.policy = policy
  const name = attributes['token.name']
  if (method === 'token') doc.name = (name ?? '').toLowerCase()
  const holder = name ?? identity
  if (holder !== undefined) doc.identity = holder
  return doc
}

const ended = (doc: TokenDoc, { time, position, closed }: At): TokenDoc => {
  const at = Number(position)
  // What it was meanwhile only its stream can say.
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

/** Who may call, and who ever might. */
export const tokens: Projection<TokenDoc, TokenEvent> = {
  name: 'tokens',
  version: 8,
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

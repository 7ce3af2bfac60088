import { Type } from 'typebox'
import { meaningsOf } from '../access/grants.ts'
import type { Meanings } from '../access/roles.ts'
import type { AccessPolicy } from '../access/rules.ts'
import { invalid } from '../base/errors.ts'
import { Id, Instant, named, pageFields, SecretShown, type Shown, Text, TextMap, times } from './answer.ts'
import { GrantShown, grantsAsked, roleOf } from './grants.ts'
import type { Names } from './identifiers.ts'
import { choice, flag, integer, optional, text, timestamp } from './readers/fields.ts'
import { input, query, type ReadBy, type ReadOf } from './readers/input.ts'
import { atMoment } from './readers/moment.ts'
import type { Input } from './readers/value.ts'
import { order } from './resource.ts'
import { tokenMetadata } from './token-metadata.ts'

/** The record of a client token (api.md §5.1). */
export const Authentication = named('Authentication', {
  id: Id,
  method: Text,
  expiresAt: Type.Optional(Instant),
  ...times,
  metadata: TextMap,
  status: Type.Enum(['ACTIVE', 'EXPIRED', 'DELETED']),
  deletedAt: Type.Optional(Instant),
  issuedBy: Type.Optional(Id),
  /** Last four characters of a static token. */
  ending: Type.Optional(Text),
  /** Grants by namespace; absent: the default access without grants. */
  grants: Type.Optional(Type.Array(GrantShown)),
  /** Hour of the last use. */
  lastUsedAt: Type.Optional(Instant),
})
export type Authentication = Shown<typeof Authentication>
export const AuthenticationList = named('AuthenticationList', {
  authentications: Type.Array(Authentication),
  ...pageFields,
  /** False if more items match than `totalCount` states. */
  totalCountExact: Type.Optional(Type.Boolean()),
})
export type AuthenticationList = Shown<typeof AuthenticationList>

/**
 * Answer to the creation of a token. The first answer contains the client token. If the request is repeated, the answer
 * contains `details` instead of the client token.
 */
export const IssuedToken = named('IssuedToken', {
  clientToken: Type.Optional(Text),
  authentication: Authentication,
  details: Type.Optional(Type.Array(SecretShown, { minItems: 1, maxItems: 1 })),
})
export type IssuedToken = Shown<typeof IssuedToken>

export const SessionStarted = named('SessionStarted', {
  authentication: Authentication,
  /** Expiry of the session cookie. */
  sessionEndsAt: Instant,
})

/** Requires a visible character, and refuses marks that change the direction of the text. */
const legible = {
  test: (name: string) => /[^\p{Z}\p{Cc}\p{Cf}\p{DI}]/u.test(name) && !/\p{Bidi_Control}/u.test(name),
  message: 'must be text that can be seen, without marks that turn its direction',
}

const asked = (names: Names, roles: Meanings) => ({
  name: text({ required: true, trim: true, max: 255, control: false, pattern: legible }),
  description: text({ max: 1024 }),
  expiresAt: optional(timestamp()),
  namespaceKey: text({ trim: true }),
  metadata: tokenMetadata(names),
  role: optional(roleOf(roles)),
  grants: grantsAsked(roles),
})

/** Body that creates a static token, with the rules of api.md §5.4 A7. */
export const newToken = (
  names: Names,
  { roles, requireRole }: Pick<AccessPolicy, 'roles' | 'requireRole'>,
): Input<ReadOf<ReturnType<typeof asked>>> => {
  const { schema, read } = input(asked(names, meaningsOf(roles)), 'NewToken')
  return {
    schema,
    read: (raw) => {
      const token = read(raw)
      const { role, grants, namespaceKey } = token
      if (grants && role !== undefined) invalid('grants', 'only one of role and grants can be present')
      if (grants && namespaceKey !== '') invalid('grants', 'only one of namespaceKey and grants can be present')
      if (requireRole && !grants && role === undefined) invalid('role', 'must not be empty')
      return token
    },
  }
}
export type NewToken = ReadBy<ReturnType<typeof newToken>>

/**
 * Queries of the list of records (api.md §5.4 A4) and of one record. Without `status`, deleted records are left out.
 */
export const tokenQuery = (names: Names) =>
  query({
    limit: integer({ min: 0, minMessage: 'must not be negative' }),
    pageToken: text(),
    method: choice(names.methodNumbers, 'METHOD_NONE'),
    namespaceKey: text(),
    status: optional(choice({ ACTIVE: 0, EXPIRED: 1, DELETED: 2 })),
    q: text(),
    sort: choice({ createdAt: 0, expiresAt: 1, name: 2 }, 'createdAt'),
    order,
    /** Static tokens, or tokens of logins and exchanges. */
    kind: optional(choice({ static: 0, session: 1 })),
    identity: text(),
    issuedBy: text(),
    /** Tokens with full access, limited to a namespace, or with grants. */
    access: optional(choice({ FULL: 0, NAMESPACED: 1, GRANTED: 2 })),
    at: atMoment,
  })
export const oneToken = query({ deleted: flag(), at: atMoment })

/** Requested expiry of a token; absent is now. */
const ending = { expiresAt: optional(timestamp()) }
export const expiryQuery = query(ending)
export const expiryBody = input(ending, 'Expiry')

const holderFields = (names: Names) => ({
  method: choice(Object.fromEntries(Object.entries(names.methodNumbers).filter(([name]) => names.methodNamed(name)))),
  identity: text({ required: true }),
  provider: text(),
})

/** Refuses the provider of a method without providers. */
const withFittingProvider = <T extends ReadOf<ReturnType<typeof holderFields>>>(
  names: Names,
  { schema, read }: Input<T>,
): Input<T> => ({
  schema,
  read: (raw) => {
    const asked = read(raw)
    if (asked.provider !== '' && names.methodNamed(asked.method) !== 'oidc')
      invalid('provider', `only ${names.method.oidc} has providers`)
    return asked
  },
})

/** Holder of tokens. */
export const holder = (names: Names) => withFittingProvider(names, input(holderFields(names), 'Holder'))

/** Holder whose tokens are revoked, and the result (api.md §5.4 A15). */
export const revocation = (names: Names) =>
  withFittingProvider(names, input({ ...holderFields(names), includeIssued: flag() }, 'Revocation'))
export const Revoked = named('Revoked', { revoked: Type.Integer(), completeTo: Type.String() })

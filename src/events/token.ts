import { Type } from 'typebox'
import { type EventOf, next, v1 } from './define.ts'
import {
  grants,
  key,
  meanings,
  object,
  oneOf,
  pseudonym,
  revision,
  sealed,
  texts,
  time,
  truth,
  uuid,
  word,
} from './fields.ts'

/** Methods of issuing a client token. */
export const METHODS = ['token', 'oidc', 'codehost', 'orchestrator'] as const
export type Method = (typeof METHODS)[number]

const token = { id: uuid('Id of the token. In the API it is the id of the authentication record. It is not a secret.') }
const expiresAt = time('Expiry time; absent: never.')

const ISSUED = 'A client token was issued: on request, by a login, by an exchange or at the first start.'
const issued = {
  ...token,
  digest: word('Keyed digest of the secret of the token.', '`<id of the pepper>.<HMAC-SHA-256 in base64url>`'),
  fingerprint: Type.Optional(
    word(
      'Keyed digest of the SHA-256 of the secret, with which a client can find a token whose secret it knows. Absent if an earlier version issued the token.',
      '`<id of the pepper>.2.<HMAC-SHA-256 of the 32 bytes of SHA-256, in base64url>`',
    ),
  ),
  ending: Type.Optional(
    word(
      'Last four characters of the secret of a static token, by which its owner can recognize it. Absent for other methods, for a secret that was given, and if an earlier version issued the token.',
      '4 characters',
    ),
  ),
  method: oneOf('Method of issue.', METHODS),
  issuedAt: time('Time of issue.'),
  expiresAt: Type.Optional(expiresAt),
  namespace: Type.Optional(key('Key of the namespace that the token was issued for. Absent: all namespaces.')),
  attributes: texts(
    'Metadata of the service: `token.name`, `token.description`, `token.namespace` for a static token; `oidc.provider` for a login; `orchestrator.…` (namespace, service account, pod) for an exchange.',
  ),
  metadata: texts('Metadata given by the creator of the token.'),
  bootstrap: Type.Optional(truth('True for the token of the first start.')),
  provider: Type.Optional(
    word('The provider, for a login through OpenID Connect.', 'name of a provider in the configuration'),
  ),
  subject: Type.Optional(
    pseudonym(
      'The person who logged in at this provider. The key of this subject encrypts `profile`.',
      '`person-` and 22 characters',
    ),
  ),
  identity: Type.Optional(
    pseudonym(
      'Holder of the token, for a login or an exchange. All tokens of one holder have the same value.',
      '`sub-` and 22 characters; `<namespace>/<name>` of a service account',
    ),
  ),
  login: Type.Optional(
    word(
      'Id of the login that issued the token. The events of the login are in the stream of the login.',
      'SHA-256, 64 hexadecimal digits',
    ),
  ),
  providerSession: Type.Optional(
    pseudonym(
      'Session at the provider, from the claim `sid` of the ID token. Several sessions here can belong to one session there.',
      '`sid-` and 22 characters',
    ),
  ),
  issuedBy: Type.Optional(uuid('Id of the token with which this token was requested.')),
  profile: Type.Optional(
    sealed(
      'Profile of the person from the provider: name, e-mail address, picture and so on.',
      'JSON object of texts, sealed',
      'subject',
    ),
  ),
}

const policy = revision(
  'The access configuration that determined the grants: the revision of its `AccessConfigured` event.',
  'access-main',
)

/**
 * Returns true for a token without grants. Versions that do not know grants must not read a token with grants, which
 * therefore has a wire name of its own.
 */
const isWithoutGrants = (token: { readonly grants?: unknown; readonly roles?: unknown; readonly policy?: unknown }) =>
  token.grants === undefined && token.roles === undefined && token.policy === undefined

const access = object('Access of the token.', {
  grants: grants('Grants of the token.'),
  roles: meanings('Rights of the roles in its grants.'),
})

/** Lifecycle of a client token, for all methods of issue. Stream: token-{id}. */
export const tokenEvents = {
  TokenIssued: next(
    v1(object(ISSUED, issued)),
    object(ISSUED, {
      ...issued,
      grants: Type.Optional(
        grants(
          'Grants of the token. Absent: all rights, or, if the token was issued for one namespace, all rights that such a token can have.',
        ),
      ),
      roles: Type.Optional(meanings('Rights of the roles in its grants, at the time of the grant.')),
      policy: Type.Optional(policy),
    }),
    (before) => before,
    {
      format: 2,
      // Without grants, `policy` only states the rules that granted nothing. A reader that ignores it loses nothing.
      downcast: ({ policy: _policy, ...token }) => (isWithoutGrants(token) ? token : undefined),
      asBefore: isWithoutGrants,
    },
  ),
  TokenGrantsNarrowed: v1(
    object(
      'The rights of the token were reduced, because the access configuration grants fewer rights. The rights of a token are never extended.',
      {
        ...token,
        from: Type.Optional(access),
        to: access,
        policy,
      },
    ),
    2,
  ),
  TokenExpiryChanged: v1(
    object('The expiry of the token was moved to an earlier time. An expiry is never moved to a later time.', {
      ...token,
      from: Type.Optional(expiresAt),
      to: time('The new expiry time.'),
    }),
  ),
  TokenRevoked: v1(
    object('The token was revoked. Requests with the token are refused from this event on.', {
      ...token,
      provider: Type.Optional(
        word(
          'The provider that signed the person out, if a logout token ended the session. The event of the logout token is the cause of this event.',
          'name of a provider in the configuration',
        ),
      ),
    }),
  ),
  TokenExpired: v1(
    object(
      'Cleanup removed the record of an expired token after the grace period. The token had been refused since `expiresAt`.',
      { ...token, expiresAt: time('The expiry time.') },
    ),
  ),
}

export type TokenEvent = EventOf<typeof tokenEvents>

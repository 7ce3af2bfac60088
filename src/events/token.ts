import { Type } from 'typebox'
import { type EventOf, next, v1 } from './define.ts'
import { key, object, oneOf, pseudonym, revision, sealed, texts, time, truth, uuid, word } from './fields.ts'
import { grants, meanings } from './grants.ts'

/** The ways to a client token. */
export const METHODS = ['token', 'oidc', 'codehost', 'orchestrator'] as const
export type Method = (typeof METHODS)[number]

const token = { id: uuid('The id of the token, called authentication in the API; no secret.') }
const expiresAt = time('From when on it is refused; absent: never.')

const ISSUED = 'A client token was issued: to somebody who asked for it, by a login, an exchange or the first start.'
const issued = {
  ...token,
  digest: word('What is kept of the secret.', '`<id of the pepper>.<HMAC-SHA-256 in base64url>`'),
  method: oneOf('How it was got.', METHODS),
  issuedAt: time('When it was issued.'),
  expiresAt: Type.Optional(expiresAt),
  namespace: Type.Optional(key('The namespace that it is bound to; absent: it reaches all.')),
  attributes: texts(
    "The service's own metadata: `token.name`, `token.description`, `token.namespace` of a token that somebody made; `oidc.provider` of a login; `orchestrator.…` (namespace, service account, pod) of an exchange.",
  ),
  metadata: texts('What whoever asked for the token wants remembered.'),
  bootstrap: Type.Optional(truth('True for the token of the first start.')),
  provider: Type.Optional(
    word('The provider, of a login through OpenID Connect.', 'name of a provider in the configuration'),
  ),
  subject: Type.Optional(
    pseudonym('Who logged in at this provider: whose key seals `profile`.', '`person-` and 22 characters'),
  ),
  identity: Type.Optional(
    pseudonym(
      'What all tokens of one holder have in common, of a login or an exchange.',
      '`sub-` and 22 characters; `<namespace>/<name>` of a service account',
    ),
  ),
  login: Type.Optional(word('The login that gave it, on a stream of its own.', 'SHA-256, 64 hexadecimal digits')),
  issuedBy: Type.Optional(uuid('The token whose bearer asked for this one.')),
  profile: Type.Optional(
    sealed(
      'What the provider told of the person: name, e-mail, picture and so on.',
      'JSON object of texts, sealed',
      'subject',
    ),
  ),
}

const policy = revision(
  'The configuration of access that gave the grants: the revision of its `AccessConfigured`.',
  'access-main',
)

/** A token that holds no grants. Whoever knows nothing of grants may take it for what it is, and no other: that one has a wire name of its own. */
const isWithoutGrants = (token: { readonly grants?: unknown; readonly roles?: unknown; readonly policy?: unknown }) =>
  token.grants === undefined && token.roles === undefined && token.policy === undefined

const access = object('What a token may do.', {
  grants: grants('Its grants.'),
  roles: meanings('What the roles of its grants mean.'),
})

/** Life of one client token, whichever way it was issued. Stream: token-{id}. */
export const tokenEvents = {
  TokenIssued: next(
    v1(object(ISSUED, issued)),
    object(ISSUED, {
      ...issued,
      grants: Type.Optional(
        grants('What it may do; absent: everything, or, of a token bound to a namespace, all that such a token may.'),
      ),
      roles: Type.Optional(meanings('What the roles of its grants mean, as it was when they were given.')),
      policy: Type.Optional(policy),
    }),
    (before) => before,
    {
      format: 2,
      // Without grants the number only says which rules did not take any: who cannot read it loses nothing.
      downcast: ({ policy: _policy, ...token }) => (isWithoutGrants(token) ? token : undefined),
      asBefore: isWithoutGrants,
    },
  ),
  TokenGrantsNarrowed: v1(
    object('The token may do less from here on, because the configuration of access gives less; never more.', {
      ...token,
      from: Type.Optional(access),
      to: access,
      policy,
    }),
    2,
  ),
  TokenExpiryChanged: v1(
    object('The token will end earlier than it would have; never later.', {
      ...token,
      from: Type.Optional(expiresAt),
      to: time('From when on it is refused now.'),
    }),
  ),
  TokenRevoked: v1(object('The token is refused from here on, for ever.', token)),
  TokenExpired: v1(
    object(
      'Cleanup took the record away, once the grace period behind the expiry was over; the token had been refused since `expiresAt`.',
      { ...token, expiresAt: time('When it ended.') },
    ),
  ),
}

export type TokenEvent = EventOf<typeof tokenEvents>

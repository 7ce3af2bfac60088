import { Type } from 'typebox'
import { type EventOf, v1 } from './define.ts'
import { key, object, oneOf, pseudonym, sealed, texts, time, truth, uuid, word } from './fields.ts'

/** The ways to a client token. */
export const METHODS = ['token', 'oidc', 'codehost', 'orchestrator'] as const
export type Method = (typeof METHODS)[number]

const token = { id: uuid('The id of the token, called authentication in the API; no secret.') }
const expiresAt = time('From when on it is refused; absent: never.')

/** Life of one client token, whichever way it was issued. Stream: token-{id}. */
export const tokenEvents = {
  TokenIssued: v1(
    object('A client token was issued: to somebody who asked for it, by a login, an exchange or the first start.', {
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
    }),
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

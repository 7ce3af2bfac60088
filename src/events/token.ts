import { Type } from 'typebox'
import { type EventOf, personal, v1 } from './define.ts'

/** The ways to a client token. */
export const METHODS = ['token', 'oidc', 'codehost', 'orchestrator'] as const
export type Method = (typeof METHODS)[number]

const Texts = Type.Record(Type.String(), Type.String())

/** Life of one client token, whichever way it was issued. Stream: token-{id}. Times are RFC 3339 UTC with milliseconds. */
export const tokenEvents = {
  /** `digest` is the keyed digest of the secret; `attributes` are the service's own metadata under neutral names (`token.name`), `metadata` the caller's; `profile` is the JSON text of the attributes that are personal; `identity` is what tokens of one holder have in common: a pseudonym of the provider's subject, or `<namespace>/<name>` of a service account; `issuedBy` is the id of the token whose bearer asked for this one. */
  TokenIssued: v1(
    Type.Object({
      id: Type.String(),
      digest: Type.String(),
      method: Type.Enum(METHODS),
      issuedAt: Type.String(),
      expiresAt: Type.Optional(Type.String()),
      namespace: Type.Optional(Type.String()),
      attributes: Texts,
      metadata: Texts,
      bootstrap: Type.Optional(Type.Boolean()),
      provider: Type.Optional(Type.String()),
      subject: Type.Optional(Type.String()),
      identity: Type.Optional(Type.String()),
      login: Type.Optional(Type.String()),
      issuedBy: Type.Optional(Type.String()),
      profile: Type.Optional(personal(Type.String(), 'subject')),
    }),
  ),
  TokenExpiryChanged: v1(Type.Object({ id: Type.String(), from: Type.Optional(Type.String()), to: Type.String() })),
  TokenRevoked: v1(Type.Object({ id: Type.String() })),
  /** Appended by cleanup once the grace period behind `expiresAt` is over. */
  TokenExpired: v1(Type.Object({ id: Type.String(), expiresAt: Type.String() })),
}

export type TokenEvent = EventOf<typeof tokenEvents>

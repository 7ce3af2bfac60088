import { Type } from 'typebox'
import { type EventOf, personal, v1 } from './define.ts'

/** Who was turned away, and how many began to log in. One stream a batch: refusal-{day}+{id}; bounded, so that hostile traffic cannot fill the log. */
export const refusalEvents = {
  /** A refusal told singly: the identity is known (tokenId, or an account that its cluster confirmed), or a login or exchange failed. `more` = like it since the last one told. */
  AuthenticationRefused: v1(
    Type.Object({
      reason: Type.String(),
      refusedAt: Type.String(),
      route: Type.String(),
      requestId: Type.String(),
      more: Type.Integer(),
      tokenId: Type.Optional(Type.String()),
      provider: Type.Optional(Type.String()),
      serviceAccount: Type.Optional(Type.String()),
      subject: Type.Optional(Type.String()),
      network: Type.Optional(personal(Type.String(), 'subject')),
    }),
  ),
  /** Every refusal of a span of time, counted. `networks` is the JSON text of the ten networks with most refusals. */
  RefusalsSummarised: v1(
    Type.Object({
      from: Type.String(),
      to: Type.String(),
      total: Type.Integer(),
      byReason: Type.Record(Type.String(), Type.Integer()),
      byRoute: Type.Record(Type.String(), Type.Integer()),
      subject: Type.String(),
      networks: personal(Type.String(), 'subject'),
    }),
  ),
  /** Logins that were begun in a span of time, counted by method and provider (`oidc/google`). Those that came back have a stream of their own; the rest was abandoned. */
  LoginsBegun: v1(
    Type.Object({
      from: Type.String(),
      to: Type.String(),
      total: Type.Integer(),
      byWay: Type.Record(Type.String(), Type.Integer()),
    }),
  ),
}

export type RefusalEvent = EventOf<typeof refusalEvents>

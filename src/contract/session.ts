import { Type } from 'typebox'
import { Instant, named, type Shown, Text } from './answer.ts'
import { Authentication } from './token.ts'

/** Who asks, as a page must know before anything else (GET /auth/v1/self/session). */
export const Session = named('Session', {
  authenticated: Type.Boolean(),
  /** Whether the service wants a credential. */
  required: Type.Boolean(),
  authentication: Type.Optional(Authentication),
  /** When the token used expires. */
  sessionEndsAt: Type.Optional(Instant),
  /** Who the provider said it was whose login was refused in this browser a moment ago, because of their address, their memberships, or because no rule grants them anything. */
  refused: Type.Optional(
    Type.Object({
      requestId: Text,
      /** The cause, of the table in api.md §5.5. */
      cause: Type.Optional(Text),
      name: Type.Optional(Text),
      email: Type.Optional(Text),
      login: Type.Optional(Text),
    }),
  ),
  service: Type.Object({ name: Type.Literal('rollcall'), readOnly: Type.Boolean(), version: Type.Optional(Text) }),
  ui: Type.Object({ theme: Text, topbarColor: Text, topbarLabel: Text }),
})
export type Session = Shown<typeof Session>

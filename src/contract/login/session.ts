import { Type } from 'typebox'
import { Instant, named, type Shown, Text } from '../answer.ts'
import { Authentication } from '../token.ts'

/** Session of the caller, for the start of a page (GET /auth/v1/self/session). */
export const Session = named('Session', {
  authenticated: Type.Boolean(),
  /** True if the service requires a credential. */
  required: Type.Boolean(),
  authentication: Type.Optional(Authentication),
  /** Expiry of the token in use. */
  sessionEndsAt: Type.Optional(Instant),
  /**
   * Person of a login that was just refused in this browser, because of the e-mail address, the memberships, or missing
   * grants.
   */
  refused: Type.Optional(
    Type.Object({
      requestId: Text,
      /** Cause from the table in api.md §5.5. */
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

import { Type } from 'typebox'
import { invalid } from '../../base/errors.ts'
import { Instant, named, type Shown, Text } from '../answer.ts'
import { absent, text } from '../readers/fields.ts'
import { input, query } from '../readers/input.ts'
import type { Field } from '../readers/value.ts'
import { Authentication } from '../token.ts'

const Paths = named('LoginPaths', { authorize_url: Text, callback_url: Text, name: Type.Optional(Text) })

/** Methods of getting a client token (api.md §5.4 A1). A method has `metadata` only if it redirects the browser. */
export const Methods = named('Methods', {
  methods: Type.Array(
    named('Method', {
      method: Text,
      enabled: Type.Boolean(),
      sessionCompatible: Type.Boolean(),
      metadata: Type.Optional(
        Type.Union([
          Paths,
          Type.Object({
            providers: Type.Unsafe<Record<string, LoginPaths>>(Type.Object({}, { additionalProperties: Paths })),
            /** Providers in the order of the configuration. */
            order: Type.Array(Text),
          }),
        ]),
      ),
    }),
  ),
})
type LoginPaths = Shown<typeof Paths>

/**
 * True if the provider must let the person choose an account even if the person already has a session at the provider
 * (OpenID Connect Core §3.1.2.1).
 */
const prompt: Field<boolean> = {
  schema: Type.Literal('login'),
  optional: true,
  read: (value, name) => {
    if (absent(value) || value === '') return false
    return value === 'login' || invalid(name, 'must be login')
  },
}

/** Query of the start of a login (api.md §5.5, §5.6). */
export const loginQuery = query({ return_to: text({ stored: false }), prompt })
export const LoginBegun = named('LoginBegun', { authorizeUrl: Text })

/** A completed login. The client token is in the cookie. */
export const LoggedIn = named('LoggedIn', { clientToken: Type.Literal(''), authentication: Authentication })

/** Answer to the end of a session. `logoutUrl` is the address at which the browser ends the session at the provider. */
export const Expired = named('TokenExpired', { logoutUrl: Type.Optional(Text) })

/** Form of a provider that signs a person out (OpenID Connect Back-Channel Logout 1.0 §2.5). */
export const LogoutForm = named('LogoutForm', { logout_token: Text })

/** Body of the exchange of a service-account token (api.md §5.7). */
export const serviceAccount = input(
  { service_account_token: text({ required: true, stored: false }) },
  'ServiceAccountToken',
)

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

import type { FastifyInstance } from 'fastify'
import { type Refusal, refuse } from '../../../base/errors.ts'
import { Nothing } from '../../../contract/answer.ts'
import { LoggedIn, LoginBegun, LogoutForm, loginQuery } from '../../../contract/login/login.ts'
import type { LoginKind } from '../../../events/login.ts'
import { beginLogin } from '../../login/begin-login.ts'
import { completeLogin } from '../../login/complete-login.ts'
import { endAtProvider } from '../../login/end-at-provider.ts'
import { attemptLimit, returnLimit } from '../../login/login-attempts.ts'
import { loginPage } from '../../login/login-page.ts'
import { endLogout } from '../../login/logout.ts'
import { route } from '../../route/route.ts'
import { authentication } from '../../route/statements.ts'
import type { LoginMethod, LoginService } from '../../services/logins.ts'

/** Maximum size of a form in bytes. */
const MOST_BYTES = 32_768

/** Error in the form of OpenID Connect Back-Channel Logout 1.0 §2.8. */
const logoutError = ({ status, message }: Refusal): object => ({
  error: status === 429 || status >= 500 ? 'temporarily_unavailable' : 'invalid_request',
  error_description: message,
})

/** Login method of the routes, and their path before `/authorize` and `/callback`. */
type LoginPaths = { readonly method: LoginKind; readonly path: string }

/** Authorize and callback routes of a login method, or of several selected by a path parameter (api.md §5.5, §5.6). */
const loginRoutes = (
  app: FastifyInstance,
  service: LoginService,
  { method, path }: LoginPaths,
  methodOf: (params: Readonly<Record<string, string>>) => LoginMethod,
): void => {
  const shared = {
    method: 'GET',
    ...authentication,
    access: { credential: 'public' },
  } as const

  route(app, {
    ...shared,
    limit: attemptLimit(service, service.logins.attempts, { method }),
    url: `${path}/authorize`,
    summary:
      'Start a login. The answer contains the address of the provider for the browser, and a cookie that binds the login to the browser.',
    query: loginQuery,
    errors: ['not_found', 'provider_mismatch', 'provider_unavailable', 'rate_limited'],
    answer: LoginBegun,
    run: (call) => beginLogin(service, call, methodOf(call.params)),
  })

  route(app, {
    ...shared,
    limit: returnLimit(service, { method }),
    url: `${path}/callback`,
    summary:
      'Finish a login: set the cookie with the token, and redirect the browser to the page that it wanted to open.',
    errors: [
      'state_missing',
      'state_mismatch',
      'login_expired',
      'login_signed_out',
      'login_replayed',
      'invalid_header',
      'issuer_mismatch',
      'provider_error',
      'code_refused',
      'id_token_invalid',
      'userinfo_invalid',
      'identity_too_large',
      'email_not_allowed',
      'membership_required',
      'no_grant',
      'not_found',
      'oauth_client_refused',
      'provider_mismatch',
      'provider_unavailable',
      'rate_limited',
    ],
    answer: LoggedIn,
    redirects: 'Redirect to the page that the login was started from; if the login is refused, to the login page.',
    errorPage: loginPage(service, method),
    run: (call) => completeLogin(service, call, methodOf(call.params)),
  })
}

/** Callback route of a method that is switched off: browsers are sent to the login page, other clients receive 404. */
const closedCallback = (app: FastifyInstance, service: LoginService, { method, path }: LoginPaths): void =>
  route(app, {
    method: 'GET',
    url: `${path}/callback`,
    ...authentication,
    access: { credential: 'public' },
    absent: true,
    hidden: true,
    summary: 'Always refused: this login method is not available.',
    answer: LoggedIn,
    errorPage: loginPage(service, method),
    run: () => refuse('route_not_found'),
  })

const OIDC = { method: 'oidc', path: '/auth/v1/method/oidc/:provider' } as const

/**
 * Login through the configured OpenID Connect providers, sign-out there, and logouts that they report; if the method is
 * switched off, only a callback that is refused.
 */
export const authOidcRoutes = (app: FastifyInstance, service: LoginService): void => {
  const { methods, oidc } = service.logins
  if (!methods.oidc.enabled) return closedCallback(app, service, OIDC)
  const methodOf = ({ provider = '' }: Readonly<Record<string, string>>) =>
    oidc.get(provider) ?? refuse('not_found', `requested provider "${provider}": provider not found`)
  const { path } = OIDC
  loginRoutes(app, service, OIDC, methodOf)
  const shared = { ...authentication, access: { credential: 'public' }, answer: Nothing } as const
  route(app, {
    ...shared,
    method: 'POST',
    url: `${path}/backchannel-logout`,
    bodyLimit: MOST_BYTES,
    writes: 'always',
    ownsIdempotency: true,
    summary:
      'End the sessions of a person whom the provider signed out. The provider sends a logout token (OpenID Connect Back-Channel Logout 1.0).',
    form: LogoutForm,
    errorBody: logoutError,
    errors: [
      'logout_token_invalid',
      'logout_token_replayed',
      'not_found',
      'provider_mismatch',
      'provider_unavailable',
      'view_behind',
      'busy',
      'rate_limited',
    ],
    run: async (call) => {
      await endAtProvider(service, call, methodOf(call.params))
      return { body: {} }
    },
  })
  route(app, {
    ...shared,
    method: 'GET',
    url: `${path}/post-logout`,
    summary: 'Finish a logout at the provider: redirect the browser to the sign-in page.',
    errors: ['invalid_header'],
    redirects: 'Redirect to the sign-in page.',
    run: (call) => endLogout(service, call),
  })
}

/**
 * Routes of the login through the code host; if the method is switched off, only its callback exists, and it is
 * refused.
 */
export const authCodehostRoutes = (app: FastifyInstance, service: LoginService): void => {
  const paths = { method: 'codehost', path: `/auth/v1/method/${service.names.codehostPath}` } as const
  const { codehost } = service.logins
  if (codehost) loginRoutes(app, service, paths, () => codehost)
  else closedCallback(app, service, paths)
}

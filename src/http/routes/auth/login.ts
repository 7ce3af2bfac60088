import type { FastifyInstance } from 'fastify'
import { refuse } from '../../../base/errors.ts'
import { LoggedIn, LoginBegun, loginQuery } from '../../../contract/login/login.ts'
import type { LoginKind } from '../../../events/login.ts'
import { beginLogin } from '../../login/begin-login.ts'
import { completeLogin } from '../../login/complete-login.ts'
import { attemptLimit, returnLimit } from '../../login/login-attempts.ts'
import { loginPage } from '../../login/login-page.ts'
import { route } from '../../route/route.ts'
import { authentication } from '../../route/statements.ts'
import type { LoginMethod, LoginService } from '../../services/logins.ts'

/** Login method of the routes, and their path before `/authorize` and `/callback`. */
type LoginPaths = { readonly method: LoginKind; readonly path: string }

/** Authorize and callback routes of a login method, or of several selected by a path parameter (api.md §5.5, §5.6). */
export const loginRoutes = (
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
export const closedCallback = (app: FastifyInstance, service: LoginService, { method, path }: LoginPaths): void =>
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

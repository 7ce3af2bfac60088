import type { FastifyInstance } from 'fastify'
import { LoggedIn, LoginBegun, loginQuery } from '../../contract/login.ts'
import { attemptLimit } from '../auth/login-throttle.ts'
import { beginLogin } from '../auth/login-begin.ts'
import { finishLogin } from '../auth/login-finish.ts'
import type { LoginMethod } from '../auth/login-method.ts'
import { route } from '../route.ts'
import { authentication } from '../statements.ts'
import type { Service } from '../service.ts'

/** Authorize and callback of one way to log in, or of the ways that a path parameter tells apart (api.md §5.5, §5.6). */
export const loginRoutes = (
  app: FastifyInstance,
  service: Service,
  path: string,
  wayOf: (params: Readonly<Record<string, string>>) => LoginMethod,
): void => {
  const shared = {
    method: 'GET',
    ...authentication,
    access: { credential: 'public' },
    limit: attemptLimit(service, service.logins.attempts),
  } as const

  route(app, {
    ...shared,
    url: `${path}/authorize`,
    summary: 'Begin a login: the address to send the browser to, and a cookie that binds the login to it.',
    query: loginQuery,
    errors: ['not_found', 'provider_unavailable', 'rate_limited'],
    answer: LoginBegun,
    run: (call) => beginLogin(service, call, wayOf(call.params), call.query.return_to),
  })

  route(app, {
    ...shared,
    url: `${path}/callback`,
    summary: 'Finish a login: sets the token cookie and sends the browser back.',
    errors: [
      'state_missing',
      'state_mismatch',
      'login_expired',
      'login_replayed',
      'issuer_mismatch',
      'provider_error',
      'code_refused',
      'id_token_invalid',
      'email_not_allowed',
      'membership_required',
      'not_found',
      'provider_unavailable',
      'rate_limited',
    ],
    answer: LoggedIn,
    redirects: 'To the page that the login began at; of a browser whose login is refused, to the login page.',
    run: (call) => finishLogin(service, call, wayOf(call.params)),
  })
}

import type { FastifyInstance } from 'fastify'
import { refuse } from '../../../base/errors.ts'
import { Nothing } from '../../../contract/answer.ts'
import { endLogout } from '../../login/logout.ts'
import { route } from '../../route/route.ts'
import { authentication } from '../../route/statements.ts'
import type { LoginService } from '../../services/logins.ts'
import { backchannelLogoutRoute } from './backchannel-logout.ts'
import { closedCallback, loginRoutes } from './login.ts'

const paths = { method: 'oidc', path: '/auth/v1/method/oidc/:provider' } as const

/**
 * Login through the configured OpenID Connect providers, sign-out there, and logouts that they report; if the method is
 * switched off, only a callback that is refused.
 */
export const authOidcRoutes = (app: FastifyInstance, service: LoginService): void => {
  if (!service.logins.methods.oidc.enabled) return closedCallback(app, service, paths)
  const methodOf = ({ provider = '' }: Readonly<Record<string, string>>) =>
    service.logins.oidc.get(provider) ?? refuse('not_found', `requested provider "${provider}": provider not found`)
  loginRoutes(app, service, paths, methodOf)
  backchannelLogoutRoute(app, service, paths.path, methodOf)
  route(app, {
    method: 'GET',
    url: `${paths.path}/post-logout`,
    ...authentication,
    access: { credential: 'public' },
    summary: 'Finish a logout at the provider: redirect the browser to the sign-in page.',
    errors: ['invalid_header'],
    answer: Nothing,
    redirects: 'Redirect to the sign-in page.',
    run: (call) => endLogout(service, call),
  })
}

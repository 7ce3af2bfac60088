import type { FastifyInstance } from 'fastify'
import { refuse } from '../../../errors.ts'
import type { Service } from '../../services/service.ts'
import { closedCallback, loginRoutes } from './login.ts'

const paths = { method: 'oidc', path: '/auth/v1/method/oidc/:provider' } as const

/**
 * Login through the configured OpenID Connect providers; if the method is switched off, only a callback that is
 * refused.
 */
export const authOidcRoutes = (app: FastifyInstance, service: Service): void => {
  if (!service.methods.oidc.enabled) return closedCallback(app, service, paths)
  loginRoutes(app, service, paths, ({ provider = '' }) => {
    return (
      service.logins.oidc.get(provider) ?? refuse('not_found', `requested provider "${provider}": provider not found`)
    )
  })
}

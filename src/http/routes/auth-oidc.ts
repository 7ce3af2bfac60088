import type { FastifyInstance } from 'fastify'
import { refuse } from '../../errors.ts'
import type { Service } from '../service.ts'
import { loginRoutes } from './auth-login.ts'

/** Login through the configured OpenID Connect providers. */
export const authOidcRoutes = (app: FastifyInstance, service: Service): void =>
  loginRoutes(app, service, '/auth/v1/method/oidc/:provider', ({ provider = '' }) => {
    return (
      service.logins.oidc.get(provider) ?? refuse('not_found', `requested provider "${provider}": provider not found`)
    )
  })

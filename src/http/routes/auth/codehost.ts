import type { FastifyInstance } from 'fastify'
import type { LoginService } from '../../services/logins.ts'
import { closedCallback, loginRoutes } from './login.ts'

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

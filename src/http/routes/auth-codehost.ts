import type { FastifyInstance } from 'fastify'
import type { LoginMethod } from '../auth/login-method.ts'
import type { Service } from '../service.ts'
import { loginRoutes } from './auth-login.ts'

/** Login through the code host. */
export const authCodehostRoutes = (app: FastifyInstance, service: Service, way: LoginMethod): void =>
  loginRoutes(app, service, `/auth/v1/method/${service.names.codehostPath}`, () => way)

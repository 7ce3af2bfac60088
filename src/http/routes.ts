import type { FastifyInstance } from 'fastify'
import { authMethodRoutes } from './routes/auth-method.ts'
import { authSelfRoutes } from './routes/auth-self.ts'
import { authTokenRoutes } from './routes/auth-token.ts'
import { authTokensRoutes } from './routes/auth-tokens.ts'
import { evaluateRoutes } from './routes/evaluate.ts'
import { healthRoutes } from './routes/health.ts'
import { metaRoutes } from './routes/meta.ts'
import { evaluator } from './evaluator.ts'
import type { Service } from './service.ts'

/** Every route there is. Those of a method that is switched off are not mounted. */
export const mountRoutes = (app: FastifyInstance, service: Service): void => {
  healthRoutes(app, service)
  metaRoutes(app, service)
  authMethodRoutes(app, service)
  authSelfRoutes(app, service)
  authTokensRoutes(app, service)
  if (service.methods.token.enabled) authTokenRoutes(app, service)

  const ask = evaluator(service.metrics)
  evaluateRoutes(app, service, ask)
}

import type { FastifyInstance } from 'fastify'
import type { Tracer } from '../base/tracing.ts'
import { METHODS, type Method } from '../events/token.ts'
import { tracedEvaluator } from './evaluation/evaluation-events.ts'
import { evaluator } from './evaluation/evaluator.ts'
import { lastEvaluations } from './evaluation/last-evaluations.ts'
import { auditAccessRoutes } from './routes/audit/access.ts'
import { auditCountsRoutes } from './routes/audit/counts.ts'
import { auditEventsRoutes } from './routes/audit/events.ts'
import { auditLedgerRoutes } from './routes/audit/ledger.ts'
import { auditLedgerProofsRoutes } from './routes/audit/ledger-proofs.ts'
import { auditReadModelsRoutes } from './routes/audit/read-models.ts'
import { auditStateRoutes } from './routes/audit/state.ts'
import { auditSubjectsRoutes } from './routes/audit/subjects.ts'
import { auditTokensFindRoutes } from './routes/audit/tokens-find.ts'
import { authAccessRoutes } from './routes/auth/access.ts'
import { authCodehostRoutes, authOidcRoutes } from './routes/auth/login.ts'
import { authMethodRoutes } from './routes/auth/method.ts'
import { authOrchestratorRoutes } from './routes/auth/orchestrator.ts'
import { authSelfRoutes } from './routes/auth/self.ts'
import { authSessionsFindRoutes } from './routes/auth/sessions-find.ts'
import { authTokenRoutes } from './routes/auth/token.ts'
import { authTokensRoutes } from './routes/auth/tokens.ts'
import { authTokensRevokeRoutes } from './routes/auth/tokens-revoke.ts'
import { constraintsRoutes } from './routes/constraints.ts'
import { distributionsRoutes } from './routes/distributions.ts'
import { evaluateRoutes } from './routes/evaluate.ts'
import { evaluateBatchRoutes } from './routes/evaluate-batch.ts'
import { evaluateLegacyRoutes } from './routes/evaluate-legacy.ts'
import { flagChangesRoutes } from './routes/flag-changes.ts'
import { flagsRoutes } from './routes/flags.ts'
import { healthRoutes, metaRoutes } from './routes/instance.ts'
import { metricsRoutes } from './routes/metrics.ts'
import { namespacesRoutes } from './routes/namespaces.ts'
import { ofrepRoutes } from './routes/ofrep.ts'
import { ofrepEventsRoutes } from './routes/ofrep-events.ts'
import { rolloutsRoutes } from './routes/rollouts.ts'
import { rulesRoutes } from './routes/rules.ts'
import { segmentChangesRoutes } from './routes/segment-changes.ts'
import { segmentMatchRoutes, segmentsRoutes } from './routes/segments.ts'
import { snapshotRoutes } from './routes/snapshot.ts'
import { variantsRoutes } from './routes/variants.ts'
import type { EvaluationService, FlagService } from './services/flags.ts'
import type { ErasureService, HistoryService, SearchService } from './services/history.ts'
import type { InstanceServices } from './services/instance.ts'
import type { Exchange, LoginService } from './services/logins.ts'
import type { TokenService } from './services/tokens.ts'

type Service = InstanceServices &
  FlagService &
  EvaluationService &
  TokenService &
  LoginService &
  HistoryService &
  SearchService &
  ErasureService & { readonly exchange: Exchange | undefined; readonly tracer: Tracer | undefined }

/** Routes that issue tokens, by method. A disabled method has none, except the callbacks of a login. */
const methodRoutes: Readonly<Record<Method, (app: FastifyInstance, service: Service) => void>> = {
  token: (app, service) => {
    if (service.logins.methods.token.enabled) authTokenRoutes(app, service)
  },
  oidc: authOidcRoutes,
  codehost: authCodehostRoutes,
  orchestrator: (app, service) => {
    if (service.exchange) authOrchestratorRoutes(app, service, service.exchange)
  },
}

/** Mounts all routes. The service has no routes of a disabled method. */
export const mountRoutes = (app: FastifyInstance, service: Service): void => {
  healthRoutes(app, service)
  if (service.settings.metricsHere) metricsRoutes(app, service)
  metaRoutes(app, service)
  authMethodRoutes(app, service)
  authSelfRoutes(app, service)
  authTokensRoutes(app, service)
  authTokensRevokeRoutes(app, service)
  authSessionsFindRoutes(app, service)
  authAccessRoutes(app, service)
  auditAccessRoutes(app, service)
  auditEventsRoutes(app, service)
  auditCountsRoutes(app, service)
  auditStateRoutes(app, service)
  auditReadModelsRoutes(app, service)
  auditLedgerRoutes(app, service)
  auditLedgerProofsRoutes(app, service)
  auditTokensFindRoutes(app, service)
  auditSubjectsRoutes(app, service)
  for (const method of METHODS) methodRoutes[method](app, service)

  const last = lastEvaluations(service)
  const evaluating = evaluator(service.metrics, service, last)
  const ask = service.tracer ? tracedEvaluator(evaluating, service.tracer) : evaluating
  evaluateRoutes(app, service, ask)
  evaluateBatchRoutes(app, service, ask)
  evaluateLegacyRoutes(app, service, ask)
  snapshotRoutes(app, service, last)
  ofrepRoutes(app, service, ask, last)
  if (service.settings.eventStreams) ofrepEventsRoutes(app, service)
  namespacesRoutes(app, service)
  flagsRoutes(app, service)
  flagChangesRoutes(app, service)
  variantsRoutes(app, service)
  rulesRoutes(app, service)
  distributionsRoutes(app, service)
  rolloutsRoutes(app, service)
  segmentsRoutes(app, service)
  segmentMatchRoutes(app, service)
  segmentChangesRoutes(app, service)
  constraintsRoutes(app, service)
}

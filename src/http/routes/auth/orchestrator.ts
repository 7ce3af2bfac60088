import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Limiter } from '../../../auth/rate-limit.ts'
import type { ServiceAccount } from '../../../auth/service-accounts/service-account.ts'
import { Refusal, refuse } from '../../../base/errors.ts'
import { serviceAccount } from '../../../contract/login/login.ts'
import { IssuedToken } from '../../../contract/token.ts'
import { answerIssued, issueToken } from '../../auth/issue-token.ts'
import { contextOf } from '../../commands/command-context.ts'
import { admit, grantsForLogin, subjectOf } from '../../login/admission.ts'
import { attemptFailed, attemptSucceeded, turnedAway } from '../../login/login-attempts.ts'
import { addressKey } from '../../memory/address-key.ts'
import { route } from '../../route/route.ts'
import { authentication } from '../../route/statements.ts'
import type { Exchange, LoginService } from '../../services/logins.ts'
import { fingerprintOf, idempotencyKey } from '../../steps/preconditions.ts'
import type { Answer } from '../../wire/reply.ts'

/** Token of a service account; it expires with the presented token. */
const tokenOf = ({ namespace, name, uid, podName, podUid, credentialId, expiresAt }: ServiceAccount) => ({
  method: 'orchestrator' as const,
  expiresAt: expiresAt.toISOString(),
  attributes: {
    'orchestrator.namespace': namespace,
    'orchestrator.serviceaccount.name': name,
    ...(uid !== undefined && { 'orchestrator.serviceaccount.uid': uid }),
    ...(podName !== undefined && { 'orchestrator.pod.name': podName }),
    ...(podUid !== undefined && { 'orchestrator.pod.uid': podUid }),
    ...(credentialId !== undefined && { 'orchestrator.credential.id': credentialId }),
  },
  identity: `${namespace}/${name}`,
})

/**
 * POST /auth/v1/method/orchestrator/serviceaccount: exchanges a service-account token for a client token (api.md §5.7).
 */
export const authOrchestratorRoutes = (
  app: FastifyInstance,
  service: LoginService,
  { orchestrator, failures, successes, once }: Exchange,
): void => {
  const { names, metrics } = service

  const grantOf = async (account: ServiceAccount) => {
    const grant = tokenOf(account)
    return { ...grant, ...(await grantsForLogin(service, subjectOf(grant))) }
  }

  /** Token for a service-account token. A refused exchange is counted and logged. */
  const admitted = async (presented: string, request: FastifyRequest) => {
    const address = addressKey(request.address)
    const admission = await admit(orchestrator.verify(presented, address), grantOf)
    if (!('refused' in admission)) return admission.granted
    const { refused, identity: account } = admission
    const silent = refused instanceof Refusal && refused.status === 503
    metrics.exchanges(silent ? 'unavailable' : 'refused').value++
    if (!(refused instanceof Refusal)) throw refused
    if (!silent) failures.count(address)
    const { namespace, name } = account ?? refused.metadata
    const confirmed = namespace !== undefined && name !== undefined
    attemptFailed(
      service,
      request,
      { method: 'orchestrator', ...(confirmed && { serviceAccount: `${namespace}/${name}` }) },
      refused,
    )
    throw new Refusal(refused.reason, refused.message, { headers: refused.headers })
  }

  /** Refuses a service account with too many exchanges, and an address with too many failures. */
  const limited = (request: FastifyRequest, limiter: Limiter, key: string, serviceAccount?: string) => {
    const refusal = turnedAway(service, request, { method: 'orchestrator', serviceAccount }, limiter, key)
    if (refusal) metrics.exchanges('limited').value++
    return refusal
  }

  route(app, {
    method: 'POST',
    url: `/auth/v1/method/${names.orchestratorPath}/serviceaccount`,
    ...authentication,
    access: { credential: 'public' },
    summary:
      'Exchange a service-account token for a client token that expires together with the service-account token.',
    writes: 'always',
    ownsIdempotency: true,
    limit: (request) => limited(request, failures, addressKey(request.address)),
    errors: [
      'service_account_token_invalid',
      'service_account_not_allowed',
      'no_grant',
      'orchestrator_unavailable',
      'rate_limited',
    ],
    body: serviceAccount,
    answer: IssuedToken,
    run: async (call) => {
      const { request } = call
      if (!service.fresh()) refuse('backend_unavailable')
      const key = idempotencyKey(request.headers)
      const grant = await admitted(call.body.service_account_token, request)
      const who = grant.identity
      const turned = successes && limited(request, successes, who, who)
      if (turned) throw turned
      successes?.count(who)

      const issue = async (commandId?: string): Promise<Answer<IssuedToken>> => {
        const context = { ...contextOf(call, service), ...(commandId !== undefined && { commandId }) }
        const issued = await issueToken(service, grant, context)
        metrics.exchanges('issued').value++
        attemptSucceeded(service, request, { method: 'orchestrator', serviceAccount: who }, issued.doc.id)
        return answerIssued(service, issued, request.id)
      }
      return key === undefined ? issue() : once(`orchestrator ${who}`, key, fingerprintOf(request), issue)
    },
  })
}

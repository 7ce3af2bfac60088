import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Orchestrator } from '../../auth/orchestrator.ts'
import { mint } from '../../auth/client-token.ts'
import { idFrom } from '../../commands/envelope.ts'
import { token } from '../../commands/token.ts'
import { Refusal, refuse } from '../../errors.ts'
import type { TokenDoc } from '../../projections/tokens.ts'
import type { Row } from '../../projections/views.ts'
import type { Answer } from '../wire/reply.ts'
import { attemptFailed, attemptLimit, attemptSucceeded } from '../auth/login-throttle.ts'
import { fingerprintOf } from '../preconditions.ts'
import { Authentication, presentAuthentication } from '../present/authentication.ts'
import { addressKey } from '../auth/credential.ts'
import { text } from '../../contract/fields.ts'
import { idempotencyKey } from '../wire/headers.ts'
import { input } from '../../contract/input.ts'
import type { Limiter } from '../../auth/rate-limit.ts'
import { alreadyShown } from '../idempotency.ts'
import { route } from '../route.ts'
import { authentication } from '../statements.ts'
import type { Service } from '../service.ts'
import { contextOf, applyEvents } from '../command-context.ts'

type Exchange = { readonly orchestrator: Orchestrator; readonly attempts: Limiter }

/** POST /auth/v1/method/orchestrator/serviceaccount: a service-account token for a client token (api.md §5.7). */
export const authOrchestratorRoutes = (
  app: FastifyInstance,
  service: Service,
  { orchestrator, attempts }: Exchange,
): void => {
  const { names, execute, sealer, digest, now, idempotency, metrics } = service

  const verified = async (presented: string, request: FastifyRequest) => {
    try {
      return await orchestrator.verify(presented, addressKey(request.address))
    } catch (error) {
      metrics.exchanges('refused').value++
      if (!(error instanceof Refusal)) throw error
      const { namespace, name } = error.metadata
      const confirmed = namespace !== undefined && name !== undefined
      attemptFailed(
        service,
        request,
        { method: 'orchestrator', ...(confirmed && { serviceAccount: `${namespace}/${name}` }) },
        error,
      )
      throw new Refusal(error.reason, error.message, { headers: error.headers })
    }
  }

  route(app, {
    method: 'POST',
    url: `/auth/v1/method/${names.orchestratorPath}/serviceaccount`,
    ...authentication,
    access: { credential: 'public' },
    summary: 'Exchange a service-account token for a client token that ends when it does.',
    writes: 'always',
    ownsIdempotency: true,
    limit: attemptLimit(service, attempts),
    errors: [
      'service_account_token_invalid',
      'service_account_not_allowed',
      'orchestrator_unavailable',
      'rate_limited',
    ],
    body: input({ service_account_token: text({ required: true, stored: false }) }),
    answer: Type.Object({ clientToken: Type.String(), authentication: Authentication }),
    run: async (call) => {
      const { request } = call
      if (!service.fresh()) refuse('backend_unavailable')
      const key = idempotencyKey(request.headers)
      const account = await verified(call.body.service_account_token, request)
      const { namespace, name, uid, podName, podUid, expiresAt } = account
      const who = `${namespace}/${name}`

      const issue = async (commandId?: string): Promise<Answer> => {
        const secret = mint('orchestrator')
        const id = commandId === undefined ? randomUUID() : idFrom(commandId, 'token')
        const attributes = {
          'orchestrator.namespace': namespace,
          'orchestrator.serviceaccount.name': name,
          ...(uid !== undefined && { 'orchestrator.serviceaccount.uid': uid }),
          ...(podName !== undefined && { 'orchestrator.pod.name': podName }),
          ...(podUid !== undefined && { 'orchestrator.pod.uid': podUid }),
        }
        const data = {
          id,
          digest: digest(secret),
          method: 'orchestrator' as const,
          issuedAt: now().toISOString(),
          expiresAt: expiresAt.toISOString(),
          attributes,
          metadata: {},
          identity: who,
        }
        const context = { ...contextOf(call, service), ...(commandId !== undefined && { commandId }) }
        const { stored, revision, repeated } = await execute(token, id, 'IssueToken', data, context)
        const { rows, headers } = await applyEvents(service, stored)
        const { doc } = (rows as readonly Row<TokenDoc>[])[0]!
        metrics.exchanges('issued').value++
        attemptSucceeded(service, request, { method: 'orchestrator', serviceAccount: who }, id)
        const authentication = await presentAuthentication(doc!, names, sealer, now())
        const answer = { etag: String(revision), headers }
        return repeated
          ? { ...answer, body: alreadyShown({ authentication }, request.id) }
          : { ...answer, body: { authentication }, secret: { clientToken: secret } }
      }
      return key === undefined ? issue() : idempotency.once(`orchestrator ${who}`, key, fingerprintOf(request), issue)
    },
  })
}

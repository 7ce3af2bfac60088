import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { refuse } from '../../errors.ts'
import type { TokenDoc } from '../../projections/tokens.ts'
import type { Row } from '../../projections/views.ts'
import { Authentication, presentAuthentication } from '../present/authentication.ts'
import { createsOnly } from '../resource-routes.ts'
import { alreadyShown } from '../idempotency.ts'
import { route } from '../route.ts'
import { authentication } from '../statements.ts'
import type { Service } from '../service.ts'
import { inFuture, issueStaticToken, staticTokenInput } from '../auth/issue-token.ts'
import { contextOf, applyEvents } from '../command-context.ts'

/** POST /auth/v1/method/token: a static token (api.md §5.4 A7). */
export const authTokenRoutes = (app: FastifyInstance, service: Service): void => {
  const { names, sealer, flagStore, now } = service
  route(app, {
    method: 'POST',
    url: '/auth/v1/method/token',
    ...authentication,
    access: { credential: 'required', namespace: 'none' },
    summary: 'Create a static token; its client token is shown only here.',
    writes: 'always',
    errors: ['not_found', 'token_scoped', 'quota_exceeded'],
    body: staticTokenInput(names),
    answer: Type.Object({ clientToken: Type.String(), authentication: Authentication }),
    run: async (call) => {
      const { namespaceKey } = call.body
      const context = contextOf(call, service)
      inFuture(call.body, now())
      if (namespaceKey !== '' && !flagStore.namespace(namespaceKey))
        refuse('not_found', `namespace "${namespaceKey}" not found`)
      createsOnly(context)

      const { clientToken, stored, revision, repeated } = await issueStaticToken(service, call.body, context)
      const { rows, headers } = await applyEvents(service, stored)
      const { doc } = (rows as readonly Row<TokenDoc>[])[0]!
      const authentication = await presentAuthentication(doc!, names, sealer, now())
      const answer = { etag: String(revision), headers }
      return repeated
        ? { ...answer, body: alreadyShown({ authentication }, call.requestId) }
        : { ...answer, body: { authentication }, secret: { clientToken } }
    },
  })
}

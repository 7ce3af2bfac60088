import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { refuse } from '../../errors.ts'
import type { TokenDoc } from '../../projections/tokens.ts'
import type { Row } from '../../projections/views.ts'
import { Authentication, presentAuthentication } from '../authentication.ts'
import { createsOnly } from '../management.ts'
import { alreadyShown } from '../requests.ts'
import { route } from '../route.ts'
import type { Service } from '../service.ts'
import { inFuture, issueStaticToken, staticTokenInput } from '../static-token.ts'
import { contextOf, settled } from '../write.ts'

/** POST /auth/v1/method/token: a static token (api.md §5.4 A7). */
export const authTokenRoutes = (app: FastifyInstance, service: Service): void => {
  const { names, sealer, catalog, now } = service
  route(app, {
    method: 'POST',
    url: '/auth/v1/method/token',
    access: 'unscoped',
    tag: 'Authentication',
    summary: 'Create a static token; its client token is shown only here.',
    writes: true,
    errors: ['not_found', 'token_scoped', 'quota_exceeded'],
    body: staticTokenInput(names),
    answer: Type.Object({ clientToken: Type.String(), authentication: Authentication }),
    run: async (call) => {
      const { namespaceKey } = call.body
      const context = contextOf(call, service)
      inFuture(call.body, now())
      if (namespaceKey !== '' && !catalog.namespace(namespaceKey)) refuse('not_found', `namespace "${namespaceKey}" not found`)
      createsOnly(context)

      const { clientToken, stored, revision, repeated } = await issueStaticToken(service, call.body, context)
      const { rows, headers } = await settled(service, stored)
      const { doc } = (rows as readonly Row<TokenDoc>[])[0]!
      const authentication = await presentAuthentication(doc!, names, sealer, now())
      const answer = { etag: String(revision), headers }
      return repeated
        ? { ...answer, body: alreadyShown({ authentication }, call.requestId) }
        : { ...answer, body: { authentication }, secret: { clientToken } }
    },
  })
}

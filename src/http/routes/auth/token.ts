import type { FastifyInstance } from 'fastify'
import { meaningsOf } from '../../../access/grants.ts'
import { rowNow } from '../../../as-of/as-of.ts'
import { refuse } from '../../../base/errors.ts'
import { IssuedToken, newToken } from '../../../contract/token.ts'
import { readable } from '../../../projections/projection.ts'
import { namespaces } from '../../../projections/resource-model.ts'
import { answerIssued, issueToken } from '../../auth/issue-token.ts'
import { exceedsOwn, inFuture, namespacesAsked, placeAsked, staticToken } from '../../auth/requested-access.ts'
import { contextOf, createsOnly } from '../../commands/command-context.ts'
import { route } from '../../route/route.ts'
import { authentication } from '../../route/statements.ts'
import type { TokenService } from '../../services/tokens.ts'

/** True if the namespace exists according to the log. Memory may be behind another instance. */
const hasNamespace = async ({ log }: TokenService, key: string): Promise<boolean> =>
  readable(await rowNow(log, namespaces, key))?.doc !== undefined

/** POST /auth/v1/method/token: a static token (api.md §5.4 A7). */
export const authTokenRoutes = (app: FastifyInstance, service: TokenService): void => {
  const { names, flagStore, now, settings } = service
  const meanings = meaningsOf(settings.access.roles)
  route(app, {
    method: 'POST',
    url: '/auth/v1/method/token',
    ...authentication,
    access: { credential: 'required', namespace: { made: placeAsked }, right: 'token.create' },
    summary: 'Create a static token. Only this answer contains the secret of the token.',
    writes: 'always',
    errors: ['not_found', 'token_scoped', 'grant_exceeds', 'quota_exceeded'],
    exceeds: exceedsOwn(meanings),
    body: newToken(names, settings.access),
    answer: IssuedToken,
    run: async (call) => {
      const context = contextOf(call, service)
      inFuture(call.body, now)
      for (const key of namespacesAsked(call.body))
        if (!flagStore.namespace(key) && !(await hasNamespace(service, key)))
          refuse('not_found', `namespace "${key}" not found`)
      createsOnly(context)

      return answerIssued(service, await issueToken(service, staticToken(call.body, meanings), context), call.requestId)
    },
  })
}

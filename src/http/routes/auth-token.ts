import type { FastifyInstance } from 'fastify'
import { EVERYWHERE } from '../../access/grants.ts'
import { member } from '../../contract/input.ts'
import { IssuedToken, newToken } from '../../contract/token.ts'
import type { Raw } from '../../contract/value.ts'
import { refuse } from '../../errors.ts'
import { createsOnly } from '../resource-routes.ts'
import { route } from '../route.ts'
import { authentication } from '../statements.ts'
import type { Service } from '../service.ts'
import { answerIssued, inFuture, issueToken, staticToken } from '../auth/issue-token.ts'
import { contextOf } from '../command-context.ts'

/** The namespace that the token asked for would be bound to, else every one. */
const placeAsked = (body: Raw): string => {
  const key = member(body, 'namespaceKey')
  return (typeof key === 'string' && key.trim()) || EVERYWHERE
}

/** POST /auth/v1/method/token: a static token (api.md §5.4 A7). */
export const authTokenRoutes = (app: FastifyInstance, service: Service): void => {
  const { names, flagStore, now } = service
  route(app, {
    method: 'POST',
    url: '/auth/v1/method/token',
    ...authentication,
    access: { credential: 'required', namespace: { made: placeAsked }, right: 'token.create' },
    summary: 'Create a static token; its client token is shown only here.',
    writes: 'always',
    errors: ['not_found', 'token_scoped', 'quota_exceeded'],
    body: newToken(names),
    answer: IssuedToken,
    run: async (call) => {
      const { namespaceKey } = call.body
      const context = contextOf(call, service)
      inFuture(call.body, now())
      if (namespaceKey !== '' && !flagStore.namespace(namespaceKey))
        refuse('not_found', `namespace "${namespaceKey}" not found`)
      createsOnly(context)

      return answerIssued(service, await issueToken(service, staticToken(call.body), context), call.requestId)
    },
  })
}

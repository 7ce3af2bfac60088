import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { token } from '../../commands/token.ts'
import { invalid } from '../../errors.ts'
import type { Stored } from '../../events/log.ts'
import { type TokenDoc, tokens } from '../../projections/tokens.ts'
import type { Query } from '../../projections/views.ts'
import { choice, text } from '../fields.ts'
import { input } from '../input.ts'
import { methods } from '../names.ts'
import { route } from '../route.ts'
import type { Service } from '../service.ts'
import { identitiesOf, placeOf, type TokenFilter, whereOf } from '../token-list.ts'
import { contextOf, settled } from '../write.ts'

const BATCH = 100

/** POST /auth/v1/tokens/revoke: ends every live token of one holder. Works for a provider that is configured no more: tokens are found by what they were issued with. */
export const authTokensRevokeRoutes = (app: FastifyInstance, service: Service): void => {
  const { names, execute, views, now, logins } = service
  const ways = Object.fromEntries(methods.map((method) => [names.method(method), names.methodNumbers[names.method(method)]!]))

  route(app, {
    method: 'POST',
    url: '/auth/v1/tokens/revoke',
    access: 'unscoped',
    tag: 'Authentication',
    summary: 'Delete every live record of one holder: by token name, subject at the provider, or namespace/name of a service account.',
    writes: true,
    body: input({ method: choice(ways), identity: text({ required: true }), provider: text() }),
    answer: Type.Object({ revoked: Type.Integer() }),
    run: async (call) => {
      const { identity, provider } = call.body
      const method = names.methodNamed(call.body.method)
      if (provider !== '' && method !== 'oidc') invalid('provider', `only ${names.method('oidc')} has providers`)
      // What is changed here is many records, so no revision of one is asked for.
      const { ifMatch: _ifMatch, ...context } = contextOf(call, service)
      // A request taken up again counts what it did before: those records are no longer live.
      const status = context.commandId === undefined ? (['ACTIVE'] as const) : (['ACTIVE', 'DELETED'] as const)
      const identities = identitiesOf(logins.pseudonyms, identity, method)
      const filter = { method, identities, provider, namespaceKey: '', q: '', issuedBy: [] }

      const events = new Map<string, Stored>()
      const revoke = async ({ id }: TokenDoc): Promise<void> => {
        const { stored } = await execute(token, id, 'RevokeToken', { id }, context)
        await service.applied(stored)
        for (const event of stored) events.set(event.id, event)
      }
      const revokeAll = async (which: TokenFilter): Promise<void> => {
        for (let after: Query['after'], more = true; more; ) {
          const where = whereOf(which, now())
          const { rows } = await views.list<TokenDoc>(tokens, { where, order: 'createdAt', limit: BATCH, ...(after && { after }) })
          const docs = rows.flatMap(({ doc }) => doc ?? [])
          await Promise.all(docs.map(revoke))
          const last = docs.at(-1)
          more = docs.length === BATCH
          if (last) after = placeOf(last)
        }
      }
      for (const each of status) await revokeAll({ ...filter, status: each })
      const inOrder = [...events.values()].sort((a, b) => Number(a.position - b.position))
      const { headers } = await settled(service, inOrder.slice(-1))
      return { body: { revoked: events.size }, headers }
    },
  })
}

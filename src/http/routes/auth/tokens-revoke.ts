import type { FastifyInstance } from 'fastify'
import { partsOf } from '../../../base/concurrency.ts'
import type { Context } from '../../../commands/envelope.ts'
import { Revoked, revocation } from '../../../contract/token.ts'
import type { Stored } from '../../../events/log.ts'
import { meets, type TokenStatus } from '../../../projections/token-status.ts'
import { tokens } from '../../../projections/tokens.ts'
import { revokeToken } from '../../auth/revoke-token.ts'
import { identitiesOf, type TokenFilter, whereOf } from '../../auth/token-filter.ts'
import { tokenBatches } from '../../auth/token-records.ts'
import { contextOf, positionOf } from '../../commands/command-context.ts'
import { leavingOut } from '../../lists/paging.ts'
import { waitForTokenView } from '../../lists/wait-for-token-view.ts'
import { route } from '../../route/route.ts'
import { authentication } from '../../route/statements.ts'
import type { TokenService } from '../../services/tokens.ts'

/** Maximum number of issuers in one search. */
const BATCH = 100

type Which = Omit<TokenFilter, 'status'>
const noFilter: Which = { method: undefined, identities: [], provider: '', namespaceKey: '', q: '', issuedBy: [] }

/** Revokes the token records that match a filter, each once. `events` are the revocations, by event id. */
const ending = (service: TokenService, context: Context, alsoMakers: boolean) => {
  const { now, closed } = service
  // A repeated request counts the revocations of its first attempt, whose records are already deleted.
  const ended = new Set<TokenStatus>(context.commandId === undefined ? ['ACTIVE'] : ['ACTIVE', 'DELETED'])
  // A creator may have ended before its tokens. A status changes only in this order, so reading the lists in this order
  // misses no record.
  const statuses: readonly TokenStatus[] = alsoMakers ? ['ACTIVE', 'EXPIRED', 'DELETED'] : [...ended]
  const events = new Map<string, Stored>()
  const met = new Set<string>()

  const end = async (id: string): Promise<void> => {
    for (const event of await revokeToken(service, id, context)) events.set(event.id, event)
  }
  /** Revokes unreadable tokens whose last readable state matches the filter; returns the ids not seen before. */
  const endClosed = async (which: Which): Promise<readonly string[]> => {
    const where = whereOf({ ...which, status: undefined }, now())
    const meant = closed
      .all(tokens.category)
      .flatMap(([id, { before }]) => (before && meets(before, where) ? [id] : []))
    const fresh = meant.filter((id) => !met.has(id))
    for (const id of fresh) met.add(id)
    await Promise.all(fresh.map(end))
    return fresh
  }
  /** Revokes the active records of a filter; returns the ids of all records not seen before. */
  const endAll = async (which: Which): Promise<readonly string[]> => {
    const all: string[] = []
    for (const status of statuses)
      for await (const docs of tokenBatches(service, (time) => whereOf({ ...which, status }, time))) {
        const fresh = docs.flatMap(({ id }) => (met.has(id) ? [] : [id]))
        for (const id of fresh) met.add(id)
        all.push(...fresh)
        if (ended.has(status)) await Promise.all(fresh.map(end))
      }
    return [...all, ...(await endClosed(which))]
  }
  return { endAll, events }
}

/**
 * POST /auth/v1/tokens/revoke: revokes all active tokens of a holder and, on request, all tokens issued by them,
 * recursively. The route also works for a provider that is no longer configured, because tokens are found by their
 * stored data.
 */
export const authTokensRevokeRoutes = (app: FastifyInstance, service: TokenService): void => {
  const { names, logins } = service

  route(app, {
    method: 'POST',
    url: '/auth/v1/tokens/revoke',
    ...authentication,
    access: { credential: 'required', namespace: 'none', right: 'token.revoke' },
    summary:
      'Revoke all live tokens of one holder, named by token name, identifier at the provider, or namespace/name of a service account. With includeIssued also revoke the tokens that were created with these tokens, directly or indirectly.',
    writes: 'always',
    body: revocation(names),
    errors: ['view_behind'],
    answer: Revoked,
    run: async (call) => {
      const { identity, provider, includeIssued } = call.body
      const method = names.methodNamed(call.body.method)
      // The command changes many records, so If-Match is ignored.
      const { ifMatch: _ifMatch, ...context } = contextOf(call, service)
      const { endAll, events } = ending(service, context, includeIssued)
      const identities = identitiesOf(logins.pseudonyms, identity, method)
      const completeTo = await waitForTokenView(service)
      const holders = await endAll({ ...noFilter, method, identities, provider })
      for (let makers = includeIssued ? holders : []; makers.length > 0; ) {
        // Wait again, because the revoked tokens may have issued further tokens before they ended.
        await waitForTokenView(service)
        const made: string[] = []
        for (const issuedBy of partsOf(makers, BATCH)) made.push(...(await endAll({ ...noFilter, issuedBy })))
        makers = made
      }
      const inOrder = [...events.values()].sort((a, b) => Number(a.position - b.position))
      const headers = await positionOf(service, inOrder)
      const unknown = service.closed.all(tokens.category).filter(([, { before }]) => !before).length
      const body = { revoked: events.size, completeTo: String(completeTo) }
      return leavingOut(service, unknown, { body, headers })
    },
  })
}

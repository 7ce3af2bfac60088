import type { FastifyRequest } from 'fastify'
import { FULL, type Reach } from '../../access/reach.ts'
import { isRefusal } from '../../base/errors.ts'
import type { CommandServices } from '../services/commands.ts'
import type { LoginServices } from '../services/logins.ts'
import { credential } from './credential.ts'
import { byHead, byRest } from './reach.ts'
import { emailRule } from './reapply-rules.ts'

const unlessStale = (error: unknown): undefined => {
  if (!isRefusal(error, 'auth_stale')) throw error
}

/**
 * Returns the rights with which a running request would be authorized again; undefined if its token has ended, lacks
 * the required rights, or cannot be verified by this instance at the moment.
 */
export const reachAuthorizedNow = (service: CommandServices & Pick<LoginServices, 'logins' | 'verifier' | 'fresh'>) => {
  const { verifier, names, fresh } = service
  const rule = emailRule(service)
  return async (request: FastifyRequest): Promise<Reach | undefined> => {
    if (request.caller.actor.id === undefined) return FULL
    const given = credential(request, names.tokenCookie)
    if (given.kind === 'none' || given.token === undefined || !fresh()) return undefined
    const entry = verifier.cached(given.token) ?? (await verifier.verify(given.token).catch(unlessStale))
    if (!entry || rule.barOf(entry)) return undefined
    const { reach } = entry
    const wants = request.spec!.wants!
    const verdict = reach.full ? undefined : byHead(reach, wants, request, service)
    const refusal = verdict === 'later' ? await byRest(reach, wants, request, {}, service) : verdict
    return refusal ? undefined : reach
  }
}

import type { FastifyRequest } from 'fastify'
import type { AuthServices } from '../services/auth.ts'
import type { CommandServices } from '../services/commands.ts'
import type { InstanceServices } from '../services/instance.ts'
import type { LoginServices } from '../services/logins.ts'
import { credential } from './credential.ts'
import { emailRule } from './email-rule.ts'
import { byHead, byRest } from './reach.ts'

/**
 * Tests whether a running request would be authorized again: its credential is valid and has sufficient rights, and
 * this instance can judge it.
 */
export const stillAuthorized = (service: InstanceServices & AuthServices & LoginServices & CommandServices) => {
  const { verifier, names, fresh } = service
  const rule = emailRule(service)
  return async (request: FastifyRequest): Promise<boolean> => {
    if (request.caller.actor.id === undefined) return true
    const given = credential(request, names.tokenCookie)
    if (given.kind === 'none' || given.token === undefined || !fresh()) return false
    const entry = verifier.cached(given.token) ?? (await verifier.verify(given.token))
    if (!entry || rule.barOf(entry)) return false
    const { reach } = entry
    const wants = request.spec!.wants!
    const verdict = reach.full ? undefined : byHead(reach, wants, request, service)
    return (verdict === 'later' ? await byRest(reach, wants, request, {}, service) : verdict) === undefined
  }
}

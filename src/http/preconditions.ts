import { createHash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { viewBehind } from '../as-of/view-behind.ts'
import { refuse } from '../errors.ts'
import { asOfReading } from './as-of-readings.ts'
import type { Fingerprint } from './idempotency.ts'
import type { AfterParse, Call } from './route/route.ts'
import type { AuthServices } from './services/auth.ts'
import type { CommandServices } from './services/commands.ts'
import type { InstanceServices } from './services/instance.ts'
import type { ReadServices } from './services/reads.ts'
import { afterPosition, beyondHead, eventReason, idempotencyKey, ifMatch } from './wire/headers.ts'

const WAIT_MS = 2_000

/** Directives in the headers of a write; parsed before its field rules. */
type RequestDirectives = {
  readonly reason?: string
  readonly ifMatch?: readonly string[] | '*'
  readonly commandId?: string
}

declare module 'fastify' {
  interface FastifyRequest {
    directives: RequestDirectives
  }
}

/**
 * Owner of the idempotency keys of a request. The exchange of a service-account token knows its
 * actor only later, and calls `idempotency` itself.
 */
const ownerOf = ({ caller }: Call<unknown, unknown>): string => caller.actor.id ?? caller.actor.kind

const readsPast = ({ query }: Call<unknown, unknown>): boolean =>
  (query as { readonly at?: unknown } | undefined)?.at !== undefined

/**
 * Steps 9 and 10 of api.md §1.3: header syntax, read-only instances, waiting for a position, limits of as-of queries,
 * and idempotent replay.
 */
export const preconditions = (
  service: Pick<CommandServices, 'alone' | 'log' | 'seen'> &
    Pick<InstanceServices, 'settings'> &
    Pick<ReadServices, 'idempotency' | 'pastReadings'> &
    Pick<AuthServices, 'holderOf'>,
): AfterParse => {
  const reached = async (after: bigint): Promise<void> => {
    if (service.alone && after > (await service.log.head())) beyondHead()
    if (!(await service.seen(after, WAIT_MS))) viewBehind(after)
  }
  return (call, next) => {
    const { request } = call
    const { access, method, writes, ownsIdempotency } = request.spec!
    const { headers } = request
    if (!writes) {
      const after = access.credential === 'public' ? undefined : afterPosition(headers)
      const answer = readsPast(call) ? () => asOfReading(service, call, next) : next
      return after === undefined ? answer() : reached(after).then(answer)
    }
    const reason = eventReason(headers)
    const match = ifMatch(headers)
    const key = method === 'POST' ? idempotencyKey(headers) : undefined
    request.directives = { ...(reason !== undefined && { reason }), ...(match !== undefined && { ifMatch: match }) }
    if (service.settings.readOnly && writes === 'unless-read-only') refuse('read_only')
    if (key === undefined || ownsIdempotency) return next()
    return service.idempotency.once(ownerOf(call), key, fingerprintOf(request), (commandId) => {
      request.directives = { ...request.directives, commandId }
      return next()
    })
  }
}

/** Fingerprint of a request: digest of method, path, query and body bytes. */
export const fingerprintOf = (request: FastifyRequest): Fingerprint => ({
  requestId: request.id,
  fingerprint: createHash('sha256')
    .update(`${request.method} ${request.raw.url}\n`)
    .update(request.bytes ?? '')
    .digest('base64url'),
})

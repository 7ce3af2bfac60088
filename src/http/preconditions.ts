import { createHash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { viewBehind } from '../as-of/view-behind.ts'
import { refuse } from '../errors.ts'
import { asOfReading } from './as-of-readings.ts'
import type { Fingerprint } from './idempotency.ts'
import type { ServiceSteps, Step } from './route/pipeline.ts'
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

const readsPast = (query: unknown): boolean => (query as { readonly at?: unknown } | undefined)?.at !== undefined

/** Steps 9 to 11 of api.md §1.3, except query and field rules. */
export const preconditions = (
  service: Pick<CommandServices, 'alone' | 'log' | 'seen'> &
    Pick<InstanceServices, 'settings'> &
    Pick<ReadServices, 'idempotency' | 'pastReadings'> &
    Pick<AuthServices, 'holderOf'>,
): Required<Pick<ServiceSteps, 'readHeaders' | 'replay' | 'boundReading'>> => {
  const reached = async (after: bigint): Promise<void> => {
    if (service.alone && after > (await service.log.head())) beyondHead()
    if (!(await service.seen(after, WAIT_MS))) viewBehind(after)
  }

  /** Reads the headers of a write, or waits for the position of a read. Refuses a write on a read-only instance. */
  const readHeaders: Step = (exchange) => {
    const { request, spec } = exchange
    const { access, method, writes } = spec
    const { headers } = request
    if (!writes) {
      const after = access.credential === 'public' ? undefined : afterPosition(headers)
      return after === undefined ? undefined : reached(after)
    }
    const reason = eventReason(headers)
    const match = ifMatch(headers)
    if (method === 'POST') exchange.idempotencyKey = idempotencyKey(headers)
    request.directives = { ...(reason !== undefined && { reason }), ...(match !== undefined && { ifMatch: match }) }
    if (service.settings.readOnly && writes === 'unless-read-only') refuse('read_only')
    return undefined
  }

  /** The exchange of a service-account token knows its actor only later, and calls `idempotency` itself. */
  const replay: Step = (exchange, proceed) => {
    const { request, spec, idempotencyKey: key } = exchange
    if (key === undefined || spec.ownsIdempotency) return undefined
    const { actor } = request.caller
    return service.idempotency.once(actor.id ?? actor.kind, key, fingerprintOf(request), (commandId) => {
      request.directives = { ...request.directives, commandId }
      return proceed(exchange)
    })
  }

  const boundReading: Step = (exchange, proceed) =>
    !exchange.spec.writes && readsPast(exchange.query)
      ? asOfReading(service, exchange.request, () => proceed(exchange))
      : undefined

  return { readHeaders, replay, boundReading }
}

/** Fingerprint of a request: digest of method, path, query and body bytes. */
export const fingerprintOf = (request: FastifyRequest): Fingerprint => ({
  requestId: request.id,
  fingerprint: createHash('sha256')
    .update(`${request.method} ${request.raw.url}\n`)
    .update(request.bytes ?? '')
    .digest('base64url'),
})

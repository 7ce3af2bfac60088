import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { EVERYWHERE } from '../../access/grants.ts'
import { viewBehind } from '../../as-of/reads.ts'
import { refuse } from '../../base/errors.ts'
import { CLIENT_TOKEN } from '../../base/token-form.ts'
import { positionOf } from '../../contract/readers/moment.ts'
import { lengthOf } from '../../contract/readers/value.ts'
import type { NewToken } from '../../contract/token.ts'
import type { Exchange, ServiceSteps, Step } from '../route/pipeline.ts'
import type { Guarded } from '../route/statements.ts'
import type { AuthServices } from '../services/auth.ts'
import type { CommandServices } from '../services/commands.ts'
import type { HistoryServices } from '../services/history.ts'
import { asOfReading } from './as-of-readings.ts'
import type { Fingerprint, Idempotency } from './idempotency.ts'

type Grants = Partial<Pick<NewToken, 'grants'>>

/** Namespaces that a write changes; `*` stands for all namespaces or the deployment. */
const changedBy = async (
  { namespace: place, changes }: Guarded,
  { request, body, fields }: Exchange,
): Promise<readonly string[]> => {
  const params = request.params as Readonly<Record<string, string>>
  if (changes) return [changes(params, body)]
  if (place === 'default') return ['default']
  if (typeof place === 'string') return [EVERYWHERE]
  if ('param' in place) return [params[place.param]!]
  if ('record' in place) return [(await place.record(params)) ?? EVERYWHERE]
  if (!('made' in place)) return [EVERYWHERE]
  const { grants = [] } = (fields ?? {}) as Grants
  return [place.made(body), ...grants.map(({ namespaceKey }) => namespaceKey)]
}

/** True for writes that no person decides on: logins, exchanges, and the end of the caller's own token. */
const isOfCaller = ({ right }: Guarded): boolean => right === 'none' || right === 'self.use'

/**
 * Refuses a write without a reason in the namespaces of `authorization.require_reason` with 400 `reason_required`. A
 * route whose body has a reason needs no header.
 */
const insistOnReason = async (required: readonly string[], exchange: Exchange): Promise<undefined> => {
  const { access } = exchange.spec
  if (access.credential === 'public' || isOfCaller(access)) return undefined
  if ((exchange.fields as { readonly reason?: string } | undefined)?.reason) return undefined
  const changed = await changedBy(access, exchange)
  const found = required.includes(EVERYWHERE) ? changed[0] : changed.find((key) => required.includes(key))
  if (found === undefined) return undefined
  const where = found === EVERYWHERE ? '' : ` in namespace ${JSON.stringify(found.slice(0, 255))}`
  return refuse('reason_required', `a reason is required${where}: send it in the header Event-Reason`)
}

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

/** Text of a header that is allowed once; undefined when absent. Node joins repeated values with commas. */
export const headerText = (headers: IncomingHttpHeaders, name: string): string | undefined => {
  const value = headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

/** Refuses a malformed header with 400 `invalid_header`. */
export const wrongHeader = (name: string, description: string): never =>
  refuse('invalid_header', `invalid header ${name}: ${description}`)

/** `Idempotency-Key`: 1 to 255 printable ASCII characters; else 400 `invalid_header`. */
export const idempotencyKey = (headers: IncomingHttpHeaders): string | undefined => {
  const key = headerText(headers, 'idempotency-key')
  if (key === undefined || /^[\x21-\x7e]{1,255}$/.test(key)) return key
  return wrongHeader('Idempotency-Key', 'must be 1 to 255 printable ASCII characters')
}

const tag = /^(?:W\/)?"([\x21\x23-\x7e\x80-\xff]*)"$/

const bare = /^(?!W\/)[\w.~+/=:-]+$/

/**
 * Opaque tags of a list such as `"7", W/"8", 9`, without quotes and `W/`. The result is undefined if the text is not a
 * list of tags.
 */
const tagsOf = (text: string): string[] | undefined => {
  const tags: string[] = []
  for (const item of text.split(',').map((item) => item.trim())) {
    if (item === '') continue
    const quoted = tag.exec(item)
    if (!quoted && !bare.test(item)) return undefined
    tags.push(quoted?.[1] ?? item)
  }
  return tags.length > 0 ? tags : undefined
}

/** `If-Match`: the given revisions, or `*`; malformed: 400 `invalid_header`. */
export const ifMatch = (headers: IncomingHttpHeaders): readonly string[] | '*' | undefined => {
  const text = headerText(headers, 'if-match')?.trim()
  if (text === undefined || text === '*') return text
  return tagsOf(text) ?? wrongHeader('If-Match', 'must be "*" or a list of entity tags')
}

/**
 * `After-Position`: the position that the read model must have reached. Refuses anything but a decimal unsigned 64-bit
 * number with 400 `invalid_header`.
 */
export const afterPosition = (headers: IncomingHttpHeaders): bigint | undefined => {
  const text = headerText(headers, 'after-position')
  if (text === undefined) return undefined
  return positionOf(text) ?? wrongHeader('After-Position', 'must be a decimal number')
}

/** Refuses a position later than the newest one: 400 `invalid_header`. */
const beyondHead = (): never => wrongHeader('After-Position', 'must not be later than the newest position')

const REASON_MAX = 500

/**
 * `Event-Reason`: the caller's reason for a change, in UTF-8, stored with the events. Refuses more than 500 characters
 * client tokens, and control characters with 400 `invalid_header`.
 */
export const eventReason = (headers: IncomingHttpHeaders): string | undefined => {
  const latin1 = headerText(headers, 'event-reason')?.trim()
  if (latin1 === undefined || latin1 === '') return undefined
  const text = Buffer.from(latin1, 'latin1').toString('utf8')
  if (/[\p{Cc}\ufffd]/u.test(text)) wrongHeader('Event-Reason', 'must be UTF-8 text without control characters')
  if (CLIENT_TOKEN.test(text)) wrongHeader('Event-Reason', 'must not contain a client token')
  return lengthOf(text) <= REASON_MAX ? text : wrongHeader('Event-Reason', `must be at most ${REASON_MAX} characters`)
}

const isDryRun = (query: unknown): boolean => (query as { readonly dryRun?: boolean } | undefined)?.dryRun === true
const readsPast = (query: unknown): boolean => (query as { readonly at?: unknown } | undefined)?.at !== undefined

/** Steps 9 to 11 of api.md §1.3, except query and field rules. */
export const preconditions = (
  service: Pick<CommandServices, 'log' | 'settings'> &
    Pick<HistoryServices, 'seen' | 'pastReadings'> &
    Pick<AuthServices, 'alone'> & { readonly idempotency: Idempotency },
): Required<Pick<ServiceSteps, 'readHeaders' | 'replay' | 'boundReading'>> => {
  const reached = async (after: bigint): Promise<void> => {
    if (service.alone && after > (await service.log.head())) beyondHead()
    if (!(await service.seen(after, WAIT_MS))) viewBehind(after)
  }

  /**
   * Reads the headers of a write, or waits for the position of a read. Refuses a write on a read-only instance. A dry
   * run needs neither a reason nor a writable instance, and no answer is stored under its key.
   */
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
    if (isDryRun(exchange.query)) {
      exchange.idempotencyKey = undefined
      return undefined
    }
    const { readOnly, requireReason } = service.settings
    if (readOnly && writes === 'unless-read-only') refuse('read_only')
    return reason === undefined && requireReason.length > 0 ? insistOnReason(requireReason, exchange) : undefined
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

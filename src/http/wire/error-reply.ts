import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Reason, Refusal } from '../../base/errors.ts'
import type { ErrorAnswer } from '../../contract/answer.ts'
import type { Answered } from './reply.ts'
import { asIs, everyAnswer, jsonText } from './send.ts'

/** Log for defects of the service, one line per record. */
export type Logger = { readonly error: (record: Readonly<Record<string, unknown>>, message: string) => void }

const challenge = 'Bearer realm="rollcall"'
const again = { 'retry-after': '1' }

/** Headers of each reason (api.md §2.3). */
const headersOf: { readonly [R in Reason]?: Readonly<Record<string, string>> } = {
  credential_invalid: { 'www-authenticate': `${challenge}, error="invalid_token"` },
  token_scoped: { 'www-authenticate': 'Bearer error="insufficient_scope"' },
  idempotency_in_progress: again,
  auth_stale: again,
  view_behind: again,
  busy: again,
  history_busy: again,
  ledger_suspended: { 'retry-after': '60' },
  backend_unavailable: again,
  provider_unavailable: again,
  orchestrator_unavailable: again,
  headers_too_large: { connection: 'close' },
}

/** All headers of a refusal: of its reason, its own, and those common to all errors. */
export const refusalHeaders = ({ reason, status, headers }: Refusal): Readonly<Record<string, string>> => ({
  'content-type': 'application/json',
  'cache-control': 'no-store',
  ...(status === 401 ? { 'www-authenticate': challenge } : {}),
  ...headersOf[reason],
  ...headers,
})

/** Error body (api.md §2.1): `google.rpc.Status` with exactly one detail. */
export const errorBody = ({ code, message, reason, violation, metadata }: Refusal, requestId: string): ErrorAnswer => ({
  code,
  message,
  details: [
    {
      '@type': 'type.googleapis.com/google.protobuf.Struct',
      value: {
        reason,
        domain: 'rollcall',
        metadata: { ...metadata, requestId },
        ...(violation ? { fieldViolations: [violation] } : {}),
      },
    },
  ],
})

/** Error body of a request without a route; undefined for the usual one. */
type UnroutedBody = (refusal: Refusal, request: FastifyRequest) => object | undefined

/** Framework errors that a client can cause, with their reasons. */
const framework: ReadonlyMap<unknown, Reason> = new Map([
  ['FST_ERR_BAD_URL', 'malformed_path'],
  ['FST_ERR_MAX_PARAM_LENGTH', 'malformed_path'],
])

/** Converts an error to a refusal: unchanged, mapped from a framework error, or `internal` for a defect. */
const asRefusal = (error: unknown): Refusal => {
  if (error instanceof Refusal) return error
  return new Refusal(framework.get(error instanceof Error && 'code' in error ? error.code : undefined) ?? 'internal')
}

/**
 * Answers with an error, or redirects a browser if the route has an error page. Defects are logged with the request id;
 * their details are not sent.
 */
export const refuser =
  (logger: Logger, answered: Answered, unroutedBody: UnroutedBody, onLargeHeaders?: (client: string) => void) =>
  (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const refusal = asRefusal(error)
    const { id, method, spec } = request
    if (refusal.reason === 'internal')
      logger.error({ err: error, requestId: id, method, route: spec?.url }, 'a request failed')
    if (refusal.reason === 'headers_too_large') onLargeHeaders?.(request.address)
    everyAnswer(request, reply)
    const bodyFor = spec ? spec.errorBody : unroutedBody
    const location = spec?.errorPage?.(refusal, request)
    if (location === undefined) {
      reply.code(refusal.status).headers(refusalHeaders(refusal)).serializer(asIs)
      reply.send(jsonText(bodyFor?.(refusal, request) ?? errorBody(refusal, id), request))
    } else
      reply
        .code(302)
        .headers({ 'cache-control': 'no-store', ...refusal.headers, location })
        .send()
    answered(request, reply, refusal)
  }

/** Logs the fault of an answer that was cut, because an error answer could not be sent. */
export const brokenOff =
  (logger: Logger) =>
  ({ method, routed }: IncomingMessage, error: unknown): void =>
    logger.error(
      { err: error, requestId: routed?.id, method, route: routed?.spec?.url },
      'an answer was cut off, because its data could not be read or sent: repeat the request, and report the error if it occurs again',
    )

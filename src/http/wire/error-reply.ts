import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ErrorAnswer } from '../../contract/error.ts'
import { type Reason, Refusal } from '../../errors.ts'
import type { Answered } from '../route/hooks.ts'
import { asIs, everyAnswer, jsonText } from './reply.ts'

/** Where defects of the service are told: one record, one line. */
export type Logger = { readonly error: (record: Readonly<Record<string, unknown>>, message: string) => void }

const challenge = 'Bearer realm="rollcall"'
const again = { 'retry-after': '1' }

/** Headers that a reason always brings (api.md §2.3). */
const headersOf: { readonly [R in Reason]?: Readonly<Record<string, string>> } = {
  credential_invalid: { 'www-authenticate': `${challenge}, error="invalid_token"` },
  token_scoped: { 'www-authenticate': 'Bearer error="insufficient_scope"' },
  idempotency_in_progress: again,
  auth_stale: again,
  view_behind: again,
  busy: again,
  history_busy: again,
  backend_unavailable: again,
  provider_unavailable: again,
  orchestrator_unavailable: again,
  headers_too_large: { connection: 'close' },
}

/** All headers of a refusal: those of its reason, its own, and what every error answer has. */
export const refusalHeaders = ({ reason, status, headers }: Refusal): Readonly<Record<string, string>> => ({
  'content-type': 'application/json',
  'cache-control': 'no-store',
  ...(status === 401 ? { 'www-authenticate': challenge } : {}),
  ...headersOf[reason],
  ...headers,
})

/** The one shape of an error (api.md §2.1): google.rpc.Status with exactly one detail. */
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

/** Errors of the framework that a client's bytes can cause. */
const framework: ReadonlyMap<unknown, Reason> = new Map([
  ['FST_ERR_BAD_URL', 'malformed_path'],
  ['FST_ERR_MAX_PARAM_LENGTH', 'malformed_path'],
])

/** The refusal that an error comes to: itself, a client's mistake that the framework found, or a defect of ours. */
const asRefusal = (error: unknown): Refusal => {
  if (error instanceof Refusal) return error
  return new Refusal(framework.get(error instanceof Error && 'code' in error ? error.code : undefined) ?? 'internal')
}

/** Answers an error, where its route names a page by sending a browser there. A defect is logged with the request's id and never shown. */
export const refuser =
  (logger: Logger, answered: Answered) =>
  (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const refusal = asRefusal(error)
    const { id, method, spec } = request
    if (refusal.reason === 'internal')
      logger.error({ err: error, requestId: id, method, route: spec?.url }, 'a request failed')
    everyAnswer(request, reply)
    const location = spec?.errorPage?.(refusal, request)
    if (location === undefined) {
      reply.code(refusal.status).headers(refusalHeaders(refusal)).serializer(asIs)
      reply.send(jsonText(spec?.errorBody?.(refusal, request) ?? errorBody(refusal, id), request))
    } else
      reply
        .code(302)
        .headers({ 'cache-control': 'no-store', ...refusal.headers, location })
        .send()
    answered(request, reply, refusal)
  }

/** Logs why an answer broke off after its head was sent, when nobody could be told any more. */
export const brokenOff =
  (logger: Logger) =>
  ({ id, method, spec }: FastifyRequest, error: unknown): void =>
    logger.error({ err: error, requestId: id, method, route: spec?.url }, 'an answer broke off')

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../base/clock.ts'
import { invalid, Refusal } from '../../base/errors.ts'
import { type Raw, settle } from '../../contract/readers/value.ts'
import { receiveBody } from '../wire/body.ts'
import { sendError } from '../wire/fault.ts'
import { framing } from '../wire/framing.ts'
import { vary } from '../wire/headers.ts'
import { parametersOf } from '../wire/path.ts'
import type { Answer, Answered } from '../wire/reply.ts'
import { send } from '../wire/send.ts'
import type { Handler, Spec } from './route.ts'
import { audit } from './statements.ts'

/** A request on its way through the steps, and the data that one step passes to another. */
export type Exchange = {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly spec: Spec
  /** Index of the next step after the body. */
  next: number
  /** Set by `authorize` if body or query still influence the access decision. */
  authorizeRest: Step | undefined
  body: Raw
  /** Fields of the body, or their refusal (`wrong`), which `fieldRules` throws. */
  fields: unknown
  wrong: Error | undefined
  query: unknown
  idempotencyKey: string | undefined
}

/** Runs the remaining steps of the request. */
type Proceed = (exchange: Exchange) => Answer | Promise<Answer>

/**
 * One step of the checks in api.md §1.3. A step throws a Refusal, or returns an answer, or returns undefined to let the
 * request go on. A step that wraps the later ones calls `proceed` and returns the answer of `proceed`.
 */
export type Step = (
  exchange: Exchange,
  proceed: Proceed,
) => Answer | undefined | void | Promise<Answer | undefined | void>

/** Steps that depend on the services. */
export type ServiceSteps = {
  /** Steps 4 to 6: sets `request.caller`. If an exchange follows, step 8 runs there. */
  readonly authorize: Step
  /** Step 9: the syntax of the headers. */
  readonly readHeaders?: Step
  /** Step 10: idempotent replay. */
  readonly replay?: Step
  /** Step 11: bounds of reads of past states. */
  readonly boundReading?: Step
}

const goOn: Step = () => undefined
const nothing: Raw = {}

/** Step 3: refuses a client that exceeds its rate limit. */
const limitRate: Step = ({ request, spec }) => {
  const refusal = spec.limit?.(request)
  if (refusal) throw refusal
}

/** Sets the cache headers, for answers and for the refusals of later steps. */
const tellCaches: Step = ({ reply, spec: { cache, varies } }) => {
  if (cache === 'no-store') reply.header('cache-control', 'no-store')
  else if (varies) vary(reply, 'authorization, cookie')
}

/** Step 7: reads the received body. Refuses a wrong JSON type; other errors in fields are kept for `fieldRules`. */
const readBody: Step = (exchange) => {
  try {
    exchange.fields = exchange.spec.body?.read(exchange.body)
  } catch (error) {
    exchange.wrong = settle(error, undefined)
  }
}

/** Step 8: completes a decision that `authorize` left open. */
const authorizeRest: Step = (exchange, proceed) => exchange.authorizeRest?.(exchange, proceed)

/**
 * Step 9: the syntax of the query. An audit route that has no parameter `format` refuses it, because the client expects
 * another form of the answer.
 */
const readQuery: Step = (exchange) => {
  const { spec, request } = exchange
  const { query, tag } = spec
  if (tag === audit.tag && !(query && 'format' in query.schema.properties)) {
    const format = parametersOf(request).find(({ name, text }) => name === 'format' && text !== '')
    if (format) invalid('format', `unknown value "${format.text}"`)
  }
  exchange.query = query?.read(parametersOf(request))
}

/** Step 11: refuses an empty path parameter, and wrong fields. */
const fieldRules: Step = ({ request, wrong }) => {
  if (request.raw.target === 'hollow') {
    const params = request.params as Readonly<Record<string, string>>
    for (const name in params) if (params[name] === '') invalid(name, 'must not be empty')
  }
  if (wrong) throw wrong
}

/** Steps 12 to 15: the route itself. */
const answer = ({ spec, request, reply, fields, query }: Exchange): Answer | Promise<Answer> =>
  spec.run({
    body: fields,
    query,
    params: request.params as Readonly<Record<string, string>>,
    request,
    reply,
    caller: request.caller,
    requestId: request.id,
    route: spec.url,
  })

const exchangeOf = (request: FastifyRequest, reply: FastifyReply, spec: Spec): Exchange => ({
  request,
  reply,
  spec,
  next: 0,
  authorizeRest: undefined,
  body: nothing,
  fields: undefined,
  wrong: undefined,
  query: undefined,
  idempotencyKey: undefined,
})

/**
 * Handles a request by the steps of api.md §1.3, in their order: the first refusal or answer is sent. Step 2 is done by
 * the router.
 */
export const pipeline = (
  { authorize, readHeaders = goOn, replay = goOn, boundReading = goOn }: ServiceSteps,
  answered: Answered,
  { after }: Pick<Clock, 'after'>,
): ((spec: Spec) => Handler) => {
  /** The body is received between these steps and the later ones. */
  const before: readonly Step[] = [framing, limitRate, authorize, tellCaches]
  const later: readonly Step[] = [readBody, authorizeRest, readQuery, readHeaders, replay, boundReading, fieldRules]
  const listeners = { ended: answered, after }

  const proceed: Proceed = (exchange) => {
    while (exchange.next < later.length) {
      const outcome = later[exchange.next++]!(exchange, proceed)
      if (outcome instanceof Promise) return outcome.then((answer) => answer ?? proceed(exchange))
      if (outcome) return outcome
    }
    return answer(exchange)
  }

  const deliver = ({ request, reply }: Exchange, answer: Answer): void => {
    if (!send(request, reply, answer, listeners)) answered(request, reply)
  }

  /** Runs the later steps and sends the answer. */
  const finish = (exchange: Exchange, body: Raw | Refusal): void => {
    const { reply } = exchange
    try {
      if (body instanceof Refusal) throw body
      exchange.body = body
      const answer = proceed(exchange)
      if (answer instanceof Promise)
        answer.then((answer) => deliver(exchange, answer)).catch((error: unknown) => sendError(reply, error))
      else deliver(exchange, answer)
    } catch (error) {
      sendError(reply, error)
    }
  }

  /** Receives the body without a promise: an answer sent after the last event of a body would cost a tenth more. */
  const receive = (exchange: Exchange): void => {
    const { request, spec } = exchange
    const limit = request.caller.published ? spec.publishedBodyLimit : spec.bodyLimit
    const isRead = spec.method !== 'GET' && spec.method !== 'DELETE' && spec.form === undefined
    const { inSpan } = request.raw
    receiveBody(exchange, limit, isRead, (body) =>
      inSpan ? inSpan(() => finish(exchange, body), spec.hot) : finish(exchange, body),
    )
  }

  const begin = (exchange: Exchange, from = 0): void => {
    const { reply } = exchange
    for (let n = from; n < before.length; n++) {
      const outcome = before[n]!(exchange, proceed)
      if (outcome instanceof Promise) {
        outcome
          .then((answer) => (answer ? deliver(exchange, answer) : begin(exchange, n + 1)))
          .catch((error: unknown) => sendError(reply, error))
        return
      }
      if (outcome) return deliver(exchange, outcome)
    }
    receive(exchange)
  }

  return (spec) => (request, reply) => {
    request.spec = spec
    request.raw.routed = request
    try {
      begin(exchangeOf(request, reply, spec))
    } catch (error) {
      sendError(reply, error)
    }
  }
}

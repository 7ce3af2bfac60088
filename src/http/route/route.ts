import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { TSchema } from 'typebox'
import type { Reach } from '../../access/reach.ts'
import type { Shown } from '../../contract/answer.ts'
import type { Input } from '../../contract/readers/field.ts'
import type { Query } from '../../contract/readers/input.ts'
import { type Raw, settle } from '../../contract/readers/value.ts'
import { invalid, type Reason, type Refusal } from '../../errors.ts'
import { jsonBody, takeBody } from '../wire/body.ts'
import { toldCaches } from '../wire/caches.ts'
import type { Caller } from '../wire/caller.ts'
import { framing } from '../wire/framing.ts'
import { parametersOf } from '../wire/path.ts'
import type { Answer } from '../wire/reply.ts'
import { send } from '../wire/send.ts'
import type { Answered, Authorize, AuthorizeRest } from './hooks.ts'
import { type RequiredRights, requiredRightsOf } from './required-rights.ts'
import { insistOnStatement, type Statement } from './statements.ts'

/** One request, as passed to its route. `route` is the path template. */
export type Call<B, Q> = {
  readonly body: B
  readonly query: Q
  readonly params: Readonly<Record<string, string>>
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly caller: Caller
  readonly requestId: string
  readonly route: string
}

/** Statement of a route; the OpenAPI document is generated from it. */
export type RouteOptions<B, Q, A extends TSchema> = Statement & {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly url: string
  readonly body?: Input<B>
  readonly query?: Input<Q, Query>
  /** Schema of the 200 answer. */
  readonly answer: A
  /** Description of a 302 answer, if the route has one. */
  readonly redirects?: string
  readonly summary: string
  readonly tag: string
  readonly errors?: readonly Reason[]
  /**
   * Refuses a body that requests more than its caller may grant, by names alone (§1.3 step 8). Skipped for full reach.
   */
  readonly exceeds?: (body: Raw, reach: Reach) => Refusal | undefined
  /** The route handles idempotency keys itself, because their owner is known only inside the route. */
  readonly ownsIdempotency?: boolean
  /** Step 3 of api.md §1.3: the refusal of a client that exceeds its rate limit. */
  readonly limit?: (request: FastifyRequest) => Refusal | undefined
  /** High request rate: small answers are never compressed. */
  readonly hot?: boolean
  /** Excluded from the OpenAPI document (pages, files). */
  readonly hidden?: boolean
  /** Body of an error answer that differs from api.md §2.1 (OFREP). */
  readonly errorBody?: (refusal: Refusal, request: FastifyRequest) => object
  /** URL of a page that shows an error; undefined for a client without a browser, which receives the error body. */
  readonly errorPage?: (refusal: Refusal, request: FastifyRequest) => string | undefined
  /** Placeholder of a disabled route: answers as an unknown path, without its verb in `Allow`. */
  readonly absent?: boolean
  readonly run: (call: Call<B, Q>) => Promise<Answer<Shown<A>>> | Answer<Shown<A>>
}

/** Statement of a route, with erased types, and the rights that it requires. */
export type Spec = RouteOptions<unknown, unknown, TSchema> & { readonly wants: RequiredRights | undefined }

/** Runs around steps 9 and 10 of api.md §1.3. `next` runs the field rules and the route. */
export type AfterParse = (
  call: Call<unknown, unknown>,
  next: () => Promise<Answer> | Answer,
) => Promise<Answer> | Answer

const nothing: Raw = {}

declare module 'fastify' {
  interface FastifyContextConfig {
    spec?: Spec
  }
  interface FastifyRequest {
    /** True if body or query still influence the access decision. */
    undecided: boolean
    /** Start of the request, on the monotonic clock. */
    began: number
    /** Statement of the request's route; undefined for an unknown path. */
    spec: Spec | undefined
  }
  interface FastifyInstance {
    authorize: Authorize
    authorizeRest: AuthorizeRest
    bodyLimit: number
    /** Limit for publishable tokens. */
    publishedBodyLimit: number
    afterParse: AfterParse | undefined
    answered: Answered
    /** Called for an answer cut because its source failed. */
    brokenOff: (request: FastifyRequest, error: unknown) => void
    /** True if CORS is on, so answers to other origins need extra headers. */
    crossOrigin: boolean
  }
}

/** Runs `rest` unless there is a refusal, which may be a promise. */
const unless = (refusal: ReturnType<AuthorizeRest>, rest: () => Promise<Answer> | Answer): Promise<Answer> | Answer => {
  if (refusal instanceof Promise) return refusal.then((found) => unless(found, rest))
  if (refusal) throw refusal
  return rest()
}

/** Fields of a body, or their refusal (`wrong`), which is thrown after the earlier checks of api.md §1.3. */
type ReadBody<B> = { readonly fields?: B; readonly wrong?: Error }
const fieldsOf = <B>(body: Input<B> | undefined, raw: Raw): ReadBody<B> => {
  if (!body) return {}
  try {
    return { fields: body.read(raw) }
  } catch (error) {
    return { wrong: settle(error, undefined) }
  }
}

/** Mounts a route. Its checks run in the order of api.md §1.3; each failure is a Refusal. */
export const route = <A extends TSchema, B = undefined, Q = undefined>(
  app: FastifyInstance,
  options: RouteOptions<B, Q, A>,
): void => {
  insistOnStatement(options)
  const { method, url, access, body, query, run } = options
  const forCaches = toldCaches(options)
  const discards = method === 'GET' || method === 'DELETE'
  const { afterParse, answered, authorize, authorizeRest } = app
  const { monotonic, after } = app.clock
  const listeners = { ended: answered, failed: app.brokenOff, after }
  const limit = options.bodyLimit === 'configured' ? app.bodyLimit : Math.min(options.bodyLimit, app.bodyLimit)
  // An answer sent without the framework would lack the CORS headers.
  const hot = options.hot === true && !app.crossOrigin
  const spec = { ...options, hot, wants: requiredRightsOf(access, query) } as unknown as Spec

  const respond = (request: FastifyRequest, reply: FastifyReply): Promise<Answer> | Answer => {
    const raw: Raw = discards ? nothing : jsonBody(request)
    const fields = fieldsOf(body, raw)
    if (!request.undecided) return proceed(request, reply, fields)
    return unless(authorizeRest(request, raw), () => proceed(request, reply, fields))
  }

  const proceed = (
    request: FastifyRequest,
    reply: FastifyReply,
    { fields, wrong }: ReadBody<B>,
  ): Promise<Answer> | Answer => {
    const params = request.params as Readonly<Record<string, string>>
    const call: Call<B, Q> = {
      body: fields as B,
      query: query?.read(parametersOf(request)) as Q,
      params,
      request,
      reply,
      caller: request.caller,
      requestId: request.id,
      route: url,
    }
    const next = (): Promise<Answer> | Answer => {
      if (request.raw.target === 'hollow')
        for (const name in params) if (params[name] === '') invalid(name, 'must not be empty')
      if (wrong) throw wrong
      return run(call)
    }
    return afterParse ? afterParse(call, next) : next()
  }

  const deliver = (request: FastifyRequest, reply: FastifyReply, answer: Answer): void => {
    if (!send(request, reply, answer, listeners)) answered(request, reply)
  }

  const handler = (request: FastifyRequest, reply: FastifyReply): void => {
    forCaches(reply)
    const most = request.caller.published ? Math.min(limit, app.publishedBodyLimit) : limit
    takeBody({ request, reply }, most, (bytes, refusal) => {
      try {
        if (refusal) throw refusal
        request.bytes = bytes
        const answer = respond(request, reply)
        if (answer instanceof Promise)
          answer.then((answer) => deliver(request, reply, answer)).catch((error: unknown) => reply.send(error))
        else deliver(request, reply, answer)
      } catch (error) {
        reply.send(error)
      }
    })
  }

  const onRequest: Authorize = (request, reply, done) => {
    request.spec = spec
    const refusal = framing(request, monotonic) ?? options.limit?.(request)
    if (refusal) done(refusal)
    else authorize(request, reply, done)
  }
  app.route({ method, url, config: { spec }, onRequest, handler })
}

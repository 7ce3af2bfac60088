import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { TSchema } from 'typebox'
import type { Reach } from '../../access/reach.ts'
import type { Reason, Refusal } from '../../base/errors.ts'
import type { Shown } from '../../contract/answer.ts'
import type { Query } from '../../contract/readers/input.ts'
import type { Input, Raw } from '../../contract/readers/value.ts'
import type { Caller } from '../wire/caller.ts'
import type { Answer } from '../wire/reply.ts'
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

/** Definition of a route; the OpenAPI document is generated from it. */
export type RouteOptions<B, Q, A extends TSchema> = Statement & {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly url: string
  readonly body?: Input<B>
  /** Schema of a body that is a form and that the route reads itself from `request.bytes`. */
  readonly form?: TSchema
  readonly query?: Input<Q, Query>
  /** Schema of the 200 answer. */
  readonly answer: A
  /** Description of a 302 answer, if the route has one. */
  readonly redirects?: string
  readonly summary: string
  readonly tag: string
  readonly errors?: readonly Reason[]
  /**
   * Refuses a body that requests more than its caller may grant, by names alone (§1.3 step 8). Skipped for a caller
   * with full access.
   */
  readonly exceeds?: (body: Raw, reach: Reach) => Refusal | undefined
  /** The route handles idempotency keys itself, because their owner is known only inside the route. */
  readonly ownsIdempotency?: boolean
  /** Step 3 of api.md §1.3: the refusal of a client that exceeds its rate limit. */
  readonly limit?: (request: FastifyRequest) => Refusal | undefined
  /** Route with many requests: small answers are never compressed. */
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

/** Definition of a route, without types, and everything that is computed from it once, when the service starts. */
export type Spec = Omit<RouteOptions<unknown, unknown, TSchema>, 'bodyLimit'> & {
  /** Rights that the route requires. */
  readonly wants: RequiredRights | undefined
  /** Maximum size of a body in bytes, and that for publishable tokens. */
  readonly bodyLimit: number
  readonly publishedBodyLimit: number
  /** True if answers vary by the credential. */
  readonly varies: boolean
}

export type Handler = (request: FastifyRequest, reply: FastifyReply) => void

declare module 'fastify' {
  interface FastifyContextConfig {
    spec?: Spec
  }
  interface FastifyRequest {
    /** Start of the request, on the monotonic clock. */
    began: number
    /** Statement of the request's route; undefined for an unknown path. */
    spec: Spec | undefined
  }
  interface FastifyInstance {
    /** Handler of a route: the steps of api.md §1.3. */
    handlerOf: (spec: Spec) => Handler
    bodyLimit: number
    /** Limit for publishable tokens. */
    publishedBodyLimit: number
    /** True if CORS is on, so answers to other origins need extra headers. */
    crossOrigin: boolean
  }
}

/** Mounts a route. The checks of a route run in the order of api.md §1.3; each failure is a Refusal. */
export const route = <A extends TSchema, B = undefined, Q = undefined>(
  app: FastifyInstance,
  options: RouteOptions<B, Q, A>,
): void => {
  insistOnStatement(options)
  const { method, url, access, query } = options
  const bodyLimit = options.bodyLimit === 'configured' ? app.bodyLimit : Math.min(options.bodyLimit, app.bodyLimit)
  const spec = {
    ...options,
    bodyLimit,
    publishedBodyLimit: Math.min(bodyLimit, app.publishedBodyLimit),
    // An answer sent without the framework would lack the CORS headers.
    hot: options.hot === true && !app.crossOrigin,
    wants: requiredRightsOf(access, query),
    varies: method === 'GET' && access.credential !== 'public' && options.cache !== 'no-store',
  } as unknown as Spec
  app.route({ method, url, config: { spec }, handler: app.handlerOf(spec) })
}

/** Returns a function that mounts several routes, in their order. */
export const allRoutes =
  <S>(...mounts: readonly ((app: FastifyInstance, service: S) => void)[]) =>
  (app: FastifyInstance, service: S): void => {
    for (const mount of mounts) mount(app, service)
  }

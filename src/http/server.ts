import type { RequestListener } from 'node:http'
import cookie from '@fastify/cookie'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify'
import type { Clock } from '../base/clock.ts'
import type { Refusal } from '../base/errors.ts'
import { ofrepFailure } from './evaluation/ofrep.ts'
import { contained, oneAfterAnother } from './memory/arriving-requests.ts'
import type { Budgets } from './memory/room.ts'
import type { Documented } from './operations/openapi.ts'
import type { RequestSpans } from './operations/request-spans.ts'
import { pipeline, type ServiceSteps } from './route/pipeline.ts'
import type { Spec } from './route/route.ts'
import { insistOnStatement } from './route/statements.ts'
import { documentRoutes } from './routes/docs.ts'
import { takeBodies } from './wire/body.ts'
import { clientAddress } from './wire/client-address.ts'
import { brokenRequest, drain, type OnLargeHeaders } from './wire/connections.ts'
import { truster } from './wire/cookies.ts'
import { allowOrigins, type CorsSettings } from './wire/cors.ts'
import { brokenOff, type Logger, refuser } from './wire/error-reply.ts'
import { collectVerbs, framing, HEADERS, requestId, unknown, verbsOf } from './wire/framing.ts'
import { takes } from './wire/headers.ts'
import { isBelow, routing } from './wire/path.ts'
import { openPort, type Port, type WireSettings } from './wire/port.ts'
import type { Answered } from './wire/reply.ts'
import { everyAnswer } from './wire/send.ts'

/** Address and limits of the server. Times are in ms, sizes in bytes. */
export type HttpSettings = WireSettings & {
  readonly bodyLimit: number
  /** Limit for publishable tokens. */
  readonly publishedBodyLimit: number
  /** Addresses of trusted proxies; true trusts every peer. */
  readonly trustProxy: boolean | readonly string[]
  readonly cors?: CorsSettings
}

export type ServerParts = ServiceSteps & {
  readonly config: HttpSettings
  readonly logger: Logger
  readonly clock: Clock
  readonly budgets: Budgets
  readonly routes: readonly ((app: FastifyInstance) => void)[]
  /** Answers a browser's page request at a path outside the API. */
  readonly page?: (request: FastifyRequest, reply: FastifyReply) => void
  /** Called for forwarded headers of an untrusted peer. They are ignored. */
  readonly onUntrusted?: () => void
  readonly onLargeHeaders?: OnLargeHeaders
  /** Spans of requests, with tracing. */
  readonly spans?: RequestSpans | undefined
  /** Called for every sent answer, for a stream at its end. */
  readonly answered?: Answered
  /** Further input of the OpenAPI document; without it the document is not served. */
  readonly documents?: Documented
  /** A port that already listens; its request handler is replaced. */
  readonly port?: Port
}

const unreported: Answered = () => undefined
/**
 * The framework's schema compilers are not loaded, because loading them takes as long as loading all routes. Routes
 * read fields and write answers themselves.
 */
const noCompiler = () => () => {
  throw new Error(
    'the definition of a route must not contain a schema of Fastify: declare the fields with the readers of src/contract',
  )
}
/** First path segments that never answer with the page, even without a route. */
const RESERVED = ['audit', 'metrics', 'ui']
const firstPart = (url: string): string => url.split(/[/?]/, 2)[1] ?? ''

/** Handles a request without a route: a browser outside the API receives the page, all others are refused. */
const unrouted = (
  { page, answered }: ServerParts,
  verbs: ReadonlyMap<string, ReadonlySet<string>>,
  specs: readonly Spec[],
) => {
  let paths: ReturnType<typeof verbsOf> | undefined
  let apiParts: ReadonlySet<string> | undefined
  const inApi = (url: string): boolean =>
    (apiParts ??= new Set([...RESERVED, ...specs.map(({ url }) => firstPart(url))])).has(firstPart(url))
  return (request: FastifyRequest, reply: FastifyReply): void => {
    framing({ request })
    const { method, url, headers } = request
    const browsing = (method === 'GET' || method === 'HEAD') && takes(headers, 'text/html') && !inApi(url)
    if (!page || !browsing) throw unknown((paths ??= verbsOf(verbs)), request)
    everyAnswer(request, reply)
    page(request, reply)
    answered?.(request, reply)
  }
}

/** An error answer that fails would be sent again in the framework's form, and not logged. It ends the answer instead. */
const logController = Object.assign(new LogController(), {
  defaultErrorLog: (error: Error, _: FastifyRequest, { raw }: FastifyReply) => void raw.emit('error', error),
})

/** Creates the HTTP server and mounts the routes. Throws if a route omits a required statement. */
export const httpServer = async (parts: ServerParts): Promise<FastifyInstance> => {
  const { config, logger, clock, budgets, routes, answered = unreported, documents, onLargeHeaders, spans } = parts
  const { bodyLimit, publishedBodyLimit, trustProxy, cors } = config
  const { server, sockets, handle } = parts.port ?? openPort(config, clock)
  let answer: RequestListener = () => undefined
  const unroutedBody = (refusal: Refusal, request: FastifyRequest) =>
    isBelow('ofrep', request) ? ofrepFailure(refusal) : undefined
  const refuse = refuser(logger, answered, unroutedBody, onLargeHeaders)
  const app = Fastify({
    serverFactory: (handler) => {
      answer = handler
      return server
    },
    trustProxy: typeof trustProxy === 'boolean' ? trustProxy : [...trustProxy],
    requestIdHeader: false,
    genReqId: requestId,
    return503OnClosing: false,
    schemaController: { compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler } },
    logController,
    ...routing,
    clientErrorHandler: (error, socket) => brokenRequest(error, socket, clock, onLargeHeaders),
    frameworkErrors: refuse,
  }) as unknown as FastifyInstance

  app.decorate('sockets', sockets)
  app.decorate('clock', clock)
  app.decorate('budgets', budgets)
  const verbs = collectVerbs(app)
  const specs: Spec[] = []
  app.addHook('onRoute', ({ url, method, config }) => {
    if (cors && url === '*' && method === 'OPTIONS') return
    if (!config?.spec) insistOnStatement({ method: String(method), url })
    else if (method !== 'HEAD') specs.push(config.spec)
  })

  app.server.on('error', (error) => logger.error({ err: error }, 'the server could not accept a connection'))
  app.server.maxHeadersCount = HEADERS
  app.setErrorHandler(refuse)
  takeBodies(app)
  app.decorateRequest('spec', undefined)
  app.decorateRequest('moment', undefined)
  app.decorateRequest('parameters', undefined)
  app.decorateRequest('began', 0)
  app.decorateRequest('address', '')
  app.decorateRequest('room', undefined)
  app.decorate('clientAddress', clientAddress(truster(trustProxy), parts.onUntrusted))
  app.decorate('bodyLimit', bodyLimit)
  app.decorate('publishedBodyLimit', publishedBodyLimit)
  app.decorate('crossOrigin', cors !== undefined)
  app.decorateRequest('caller')
  app.decorate('handlerOf', pipeline(parts, answered, clock))
  if (cors) await allowOrigins(app, cors)
  app.setNotFoundHandler(unrouted(parts, verbs, specs))
  await app.register(cookie, { hook: false })
  for (const mount of routes) mount(app)
  if (documents) documentRoutes(app, specs, documents)
  await app.ready()
  handle(oneAfterAnother(contained(spans ? spans.handling(answer) : answer, brokenOff(logger))))
  return app
}

/**
 * Gives running requests at most `patience` ms to finish, then closes the server. The result is the number of requests
 * that were cut.
 */
export const shutDown = async (app: FastifyInstance, patience: number): Promise<number> => {
  const cut = await drain({ server: app.server, sockets: app.sockets }, app.clock, patience)
  await app.close()
  return cut
}

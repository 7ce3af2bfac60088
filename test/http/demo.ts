import { connect } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { reachOf } from '../../src/access/reach.ts'
import { systemClock } from '../../src/base/clock.ts'
import { refuse } from '../../src/base/errors.ts'
import { choice, flag, float, integer, object, optional, text, timestamp } from '../../src/contract/readers/fields.ts'
import { input, member, query } from '../../src/contract/readers/input.ts'
import { texts } from '../../src/contract/token-metadata.ts'
import { credential, sameOrigin } from '../../src/http/auth/credential.ts'
import { byteBudget } from '../../src/http/memory/room.ts'
import type { Step } from '../../src/http/route/pipeline.ts'
import { route } from '../../src/http/route/route.ts'
import { authentication, ordinary } from '../../src/http/route/statements.ts'
import { httpServer, type ServerParts } from '../../src/http/server.ts'
import { ok } from '../../src/http/wire/reply.ts'

const anything = Type.Object({}, { additionalProperties: true })
const N = '/api/v1/namespaces/:namespaceKey'
const inPath = { credential: 'management', namespace: { param: 'namespaceKey' }, right: 'flag.read' } as const
const nowhere = { credential: 'required', namespace: 'none', right: 'token.read' } as const
const everybody = { credential: 'public' } as const
const echo = { ...ordinary, answer: anything, summary: 'Echo', tag: 'Demo', access: inPath, writes: false } as const

const key = text({
  required: true,
  max: 255,
  pattern: { test: (text) => /^[-_,A-Za-z0-9]+$/.test(text), message: 'contains invalid characters' },
})
const flagBody = input({
  key,
  name: text({ required: true, max: 255 }),
  enabled: flag(),
  type: choice({ VARIANT: 0, BOOLEAN: 1 }, 'VARIANT'),
})
const rolloutBody = input({
  rank: integer({ min: 0, minMessage: 'must be greater than 0' }),
  threshold: optional(object(input({ percentage: float(), value: flag() }))),
})
const tokenBody = input({
  name: text({ required: true, max: 255, trim: true, control: false }),
  expiresAt: optional(timestamp()),
  metadata: texts({ maxEntries: 32, maxKey: 128, maxValue: 1024 }),
})

/** Duration of `/meta/slow` in ms. */
export const SLOW_MS = 300

/** Routes in the shape of the real ones that return their input. */
const demoRoutes = (app: FastifyInstance): void => {
  const list = query({ limit: integer({ min: 0 }), pageToken: text(), force: flag() })
  route(app, { ...echo, method: 'GET', url: '/api/v1/namespaces', query: list, run: ({ query }) => ok({ ...query }) })
  route(app, { ...echo, method: 'GET', url: N, run: ({ params }) => ok(params, 7n) })
  route(app, {
    ...echo,
    method: 'GET',
    url: `${N}/flags`,
    query: list,
    run: ({ params, query }) => ok({ params, query }),
  })
  route(app, {
    ...echo,
    method: 'POST',
    url: `${N}/flags`,
    body: flagBody,
    query: list,
    writes: 'always',
    run: ({ body }) => ok(body, 1n),
  })
  route(app, { ...echo, method: 'GET', url: `${N}/flags/:key`, run: ({ params }) => ok(params, 3n) })
  route(app, { ...echo, method: 'DELETE', url: `${N}/flags/:key`, run: () => ok({}) })
  route(app, {
    ...echo,
    method: 'POST',
    url: `${N}/flags/:flagKey/rollouts`,
    body: rolloutBody,
    run: async ({ body }) => ok(body),
  })
  route(app, { ...echo, method: 'PUT', url: `${N}/flags/:flagKey/rollouts/order`, run: () => ok({}) })
  route(app, { ...echo, method: 'DELETE', url: `${N}/flags/:flagKey/rollouts/:id`, run: () => ok({}) })
  route(app, {
    ...echo,
    ...authentication,
    method: 'GET',
    url: '/auth/v1/tokens',
    access: nowhere,
    run: () => ok({ authentications: [] }),
  })
  route(app, {
    ...echo,
    ...authentication,
    method: 'POST',
    url: '/auth/v1/method/token',
    access: nowhere,
    body: tokenBody,
    run: ({ body }) => ok(body),
  })
  route(app, { ...echo, method: 'GET', url: '/livez', access: everybody, run: () => ok({ status: 'ok' }) })
  route(app, { ...echo, method: 'GET', url: '/health', access: everybody, run: () => ok({ text: 'x'.repeat(5000) }) })
  route(app, {
    ...echo,
    method: 'GET',
    url: '/meta/boom',
    access: everybody,
    run: () => Promise.reject(new Error('secret detail')),
  })
  route(app, {
    ...echo,
    method: 'GET',
    url: '/meta/boom-now',
    access: everybody,
    run: () => refuse('internal', undefined, { cause: 'x' }),
  })
  route(app, {
    ...echo,
    method: 'GET',
    url: '/meta/slow',
    access: everybody,
    run: async () => {
      await app.clock.sleep(SLOW_MS)
      return ok({ done: true })
    },
  })
  route(app, {
    ...echo,
    method: 'POST',
    url: '/evaluate/v1/boolean',
    access: {
      credential: 'evaluation',
      namespace: { body: (body) => [String(member(body, 'namespaceKey'))] },
      right: 'flag.evaluate',
    },
    hot: true,
    body: input({
      namespaceKey: text({ stored: false }),
      flagKey: text({ required: true, stored: false }),
      context: texts(),
    }),
    run: ({ body }) => ok(body),
  })
  route(app, {
    ...echo,
    method: 'POST',
    url: '/ofrep/v1/evaluate/flags/:key',
    access: { credential: 'ofrep', namespace: 'header', right: 'flag.evaluate' },
    errorBody: ({ reason, message }, { params }) => ({
      key: (params as { key: string }).key,
      errorCode: reason === 'malformed_body' ? 'PARSE_ERROR' : 'GENERAL',
      errorDetails: message,
    }),
    run: ({ params, query }) => ok({ params, query }),
  })
}

const proven = sameOrigin({ publicUrl: 'https://flags.example/base', trustedOrigins: ['https://friend.example'] })

const authorizeRest: Step = ({ request: { caller }, spec, body }) => {
  const place = spec.wants?.place
  const named = typeof place === 'object' && 'body' in place ? [place.body(body)].flat() : []
  if (named.some((name) => name !== caller.reach?.namespace)) refuse('token_scoped')
}

const authorize: Step = (exchange) => {
  const { request, spec } = exchange
  const { access } = spec
  request.caller = { actor: { kind: 'anonymous' }, via: 'none' }
  if (access.credential === 'public') return
  const given = credential(request, 'service_client_token')
  if (given.kind === 'none') return refuse('credential_missing')
  if (given.token !== 'good' && given.token !== 'bound') return refuse('credential_invalid')
  if (given.kind === 'cookie' && request.method !== 'GET' && request.method !== 'HEAD' && !proven(request))
    refuse('cross_site')
  const reach = reachOf(given.token === 'bound' ? { namespace: 'a' } : {})
  request.caller = { actor: { kind: 'token', id: given.token }, via: given.kind, reach }
  if (given.token === 'bound') exchange.authorizeRest = authorizeRest
  const asked = (request.params as Record<string, string>)['namespaceKey']
  const { namespace: place } = access
  const outside = place === 'none' || (typeof place === 'object' && 'param' in place && asked !== 'a')
  if (given.token === 'bound' && outside) refuse('token_scoped')
}

const replay: Step = ({ request }) => (request.headers['x-replay'] === 'yes' ? { body: { replayed: true } } : undefined)

export const settings = {
  bodyLimit: 200_000,
  publishedBodyLimit: 100_000,
  headersTimeout: 5000,
  requestTimeout: 10_000,
  keepAliveTimeout: 72_000,
  trustProxy: false,
}

/** Starts a demo server; `log` collects its log records. */
export const demo = async (changes: Partial<ServerParts> = {}) => {
  const log: { record: Readonly<Record<string, unknown>>; message: string }[] = []
  const logger = {
    error: (record: Readonly<Record<string, unknown>>, message: string) => void log.push({ record, message }),
  }
  const app = await httpServer({
    config: settings,
    logger,
    clock: systemClock,
    budgets: { answers: byteBudget(2 ** 26, systemClock), bodies: byteBudget(2 ** 26, systemClock) },
    authorize,
    replay,
    routes: [demoRoutes],
    documents: {
      version: '1.2.3',
      names: { tokenCookie: 'demo_client_token', namespaceHeaderTitle: 'X-Demo-Namespace' },
    },
    ...changes,
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const address = app.server.address()
  if (address === null || typeof address === 'string') throw new Error('not listening')
  return { app, log, port: address.port, url: `http://127.0.0.1:${address.port}` }
}

export type Reply = { readonly status: number; readonly headers: ReadonlyMap<string, string>; readonly body: string }

const parseReply = (received: Buffer): Reply | undefined => {
  const end = received.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const [first = '', ...lines] = received.subarray(0, end).toString('latin1').split('\r\n')
  const headers = new Map(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  )
  return { status: Number(first.split(' ')[1]), headers, body: received.subarray(end + 4).toString('utf8') }
}

/** Sends raw bytes on a socket and reads one answer, by its length or until the end. */
export const exchange = (port: number, sent: string | Buffer): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const bytes = Buffer.from(sent as string, 'latin1')
    const socket = connect(port, '127.0.0.1')
    let received: Buffer = Buffer.alloc(0)
    const finish = () => {
      socket.destroy()
      const reply = parseReply(received)
      if (reply) resolve(reply)
      else reject(new Error(`no answer: ${received.toString('latin1').slice(0, 200)}`))
    }
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      const reply = parseReply(received)
      const length = Number(reply?.headers.get('content-length') ?? NaN)
      const bodyless =
        reply !== undefined &&
        (reply.status === 304 || reply.status === 204 || String(bytes.subarray(0, 5)) === 'HEAD ')
      if (reply && (bodyless || Buffer.byteLength(reply.body) >= length)) finish()
    })
    socket.on('end', finish)
    socket.on('error', finish)
    socket.write(bytes)
  })

/** Returns the reason and field violation of an error body; throws if its shape differs from api.md §2.1. */
export const problemOf = ({ status, headers, body }: Reply) => {
  const { code, message, details, ...more } = JSON.parse(body) as Record<string, unknown>
  const [detail, ...others] = details as { '@type': string; value: Record<string, unknown> }[]
  if (
    Object.keys(more).length > 0 ||
    others.length > 0 ||
    typeof code !== 'number' ||
    typeof message !== 'string' ||
    !detail
  )
    throw new Error(`not an error body: ${body}`)
  const { reason, domain, metadata, fieldViolations } = detail.value
  const { requestId } = metadata as { requestId: string }
  if (detail['@type'] !== 'type.googleapis.com/google.protobuf.Struct' || domain !== 'rollcall')
    throw new Error(`not an error body: ${body}`)
  if (requestId !== headers.get('x-request-id')) throw new Error('the body names another request')
  if (headers.get('cache-control') !== 'no-store') throw new Error(`an error of status ${status} may be cached`)
  return { code, message, reason, fieldViolations }
}

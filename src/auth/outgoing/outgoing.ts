import type { Socket } from 'node:net'
import type { SecureContext } from 'node:tls'
import { Agent, buildConnector, Client, type Dispatcher } from 'undici'
import type { Clock } from '../../base/clock.ts'
import { inChild, type Tracer } from '../../base/tracing.ts'
import { ownError } from '../safe-cause.ts'
import type { Trust } from './authority.ts'
import { portOf, proxyAuthorization } from './hosts.ts'

/** Maximum size of an answer in bytes, unless the settings have another one. */
const MOST = 1_048_576
/** Time in ms after which an idle connection is closed, and most connections to one origin. The clock ends each call. */
const KEPT = { keepAliveTimeout: 60_000, connections: 64, headersTimeout: 0, bodyTimeout: 0 } as const

/** Network settings of outgoing calls. */
export type Reach = {
  /** File of a certificate authority that is trusted in addition to the system's. */
  readonly caPath?: string | undefined
  /** Returns the proxy for a URL; undefined: none. */
  readonly proxyOf: (url: URL) => URL | undefined
  /** Returns true if the URL may be called over plain http. */
  readonly mayBeHttp: (url: URL) => boolean
  /** Continues the trace of a login or an exchange in its calls. */
  readonly tracer?: Tracer | undefined
}

type Settings = Pick<Reach, 'proxyOf' | 'mayBeHttp' | 'tracer'> & {
  readonly clock: Clock
  /** `User-Agent` of the requests. */
  readonly userAgent: string
  /** Timeout in ms for one call as a whole. */
  readonly limit: number
  /** Maximum size of an answer in bytes; default 1 MiB. */
  readonly most?: number
  readonly trust: Trust
}

type OutgoingRequest = {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  readonly signal?: AbortSignal | undefined
  /**
   * True if the request is safe to repeat. An idle connection is used only for such a request. The request is sent once
   * more if the server closes that connection at the same moment.
   */
  readonly repeatable: boolean
}

/** Errors of connections on which the server had answered before. */
const ofUsed = new WeakSet<object>()
const CLOSED: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])

/** Codes that Node.js gives the same errors, by the code or name in the library. */
const CODES: Readonly<Record<string, string>> = {
  UND_ERR_SOCKET: 'ECONNRESET',
  HTTPParserError: 'HPE_INVALID_RESPONSE',
}
const withSystemCode = (error: unknown): unknown => {
  const { name, code = name } = error as NodeJS.ErrnoException
  return CODES[code] ? Object.assign(new Error('call failed'), { code: CODES[code] }) : error
}

/** Opens a connection; it fails if the signal aborts first. */
type Open = (options: buildConnector.Options, done: buildConnector.Callback, over: AbortSignal) => void

const opening = (secureContext: SecureContext | undefined): Open => {
  // The connector returns the socket, which its type omits.
  const open = buildConnector({ timeout: 0, ...(secureContext && { secureContext }) }) as unknown as (
    ...given: Parameters<buildConnector.connector>
  ) => Socket
  // The name in the `Host` header is not the server name if the next hop is a proxy.
  return (options, done, over) => {
    const stop = () => socket.destroy(over.reason)
    const socket = open({ ...options, servername: '' }, (...outcome) => {
      over.removeEventListener('abort', stop)
      done(...outcome)
    })
    over.addEventListener('abort', stop)
    socket.once('error', (error) => socket.bytesRead > 0 && ofUsed.add(error))
  }
}

type Tunnel = { readonly proxy: URL; readonly open: Open }

/** Opens a connection to `host:port` through a proxy (CONNECT, RFC 9110 §9.3.6). Error messages name the proxy. */
const tunnelTo = async (place: string, { proxy, open }: Tunnel, userAgent: string, signal: AbortSignal) => {
  const client = new Client(proxy.origin, { connect: (options, done) => open(options, done, signal) })
  const headers = { host: place, 'user-agent': userAgent, ...proxyAuthorization(proxy) }
  const { statusCode, socket } = await client.connect({ path: place, headers, signal }).catch((error: unknown) => {
    const { name, code = name } = withSystemCode(error) as NodeJS.ErrnoException
    const why = name === 'TimeoutError' ? 'does not answer' : `cannot be reached (${code})`
    throw ownError('proxy', `the proxy ${proxy.host} ${why}`)
  })
  if (statusCode >= 200 && statusCode < 300) return socket as Socket
  socket.destroy()
  throw ownError('proxy', `the proxy ${proxy.host} answered with status ${statusCode}`)
}

/** Reads an answer of at most `most` bytes. */
const read = async ({ statusCode, headers, body }: Dispatcher.ResponseData, most: number) => {
  try {
    const received = Object.entries(headers).map(([name, value]) => [name, String(value)] as const)
    return { status: statusCode, headers: Object.fromEntries(received), body: Buffer.from(await body.arrayBuffer()) }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'UND_ERR_RES_EXCEEDED_MAX_SIZE') throw error
    const size = most === MOST ? '1 MiB' : `${most / 1024} KiB`
    throw ownError(statusCode >= 200 && statusCode < 300 ? 'large' : 'answer', `answer larger than ${size}`)
  }
}

/** Sends requests in child spans that continue the current trace; attributes by the conventions of HTTP clients. */
const traced =
  <A extends { readonly status: number }>(tracer: Tracer, send: (request: OutgoingRequest) => Promise<A>) =>
  async (request: OutgoingRequest): Promise<A> => {
    const url = new URL(request.url)
    const attributes = {
      'http.request.method': request.method,
      'server.address': url.hostname,
      'server.port': portOf(url),
    }
    return inChild(tracer, request.method, 'client', attributes, async (span) => {
      const answer = await send({ ...request, headers: { ...request.headers, ...tracer.headers() } })
      if (span) {
        tracer.set(span, { 'http.response.status_code': answer.status })
        if (answer.status >= 400) tracer.end(span, String(answer.status))
      }
      return answer
    })
  }

/**
 * HTTP client for outgoing calls. The client follows no redirect, reads at most `most` bytes of an answer, and uses
 * plain http only where `mayBeHttp` allows it.
 */
export const outgoing = ({ clock, userAgent, limit, most = MOST, trust, proxyOf, mayBeHttp, tracer }: Settings) => {
  /** Dispatchers of kept connections, by TLS context and proxy. */
  const kept = new WeakMap<object, Map<string, Agent>>()
  const contextOf = async (to: URL) => (to.protocol === 'https:' ? trust(to) : undefined)

  const agentOf = (context: SecureContext | undefined, tunnel: Tunnel | undefined): Agent => {
    const open = opening(context)
    const connect: buildConnector.connector = (options, done) => {
      const over = clock.timeout(limit)
      if (!tunnel) return open(options, done, over)
      tunnelTo(options.host! + (options.port ? '' : ':443'), tunnel, userAgent, over).then(
        (httpSocket) => open({ ...options, httpSocket }, done, over),
        (error: Error) => done(error, null),
      )
    }
    return new Agent({ ...KEPT, connect, maxResponseSize: most })
  }
  const keptAgentOf: typeof agentOf = (context, tunnel) => {
    const [agents, key] = [kept.get(context ?? kept) ?? new Map<string, Agent>(), tunnel?.proxy.href ?? '']
    const agent = agents.get(key) ?? agentOf(context, tunnel)
    kept.set(context ?? kept, agents.set(key, agent))
    return agent
  }

  const sendRequest = async ({ url: address, method, headers, body, signal, repeatable }: OutgoingRequest) => {
    const url = new URL(address)
    const over = clock.timeout(limit)
    if (url.protocol !== 'https:' && !(url.protocol === 'http:' && mayBeHttp(url)))
      throw ownError('answer', `${url.host} is not called over plain http because outgoing.http_hosts does not list it`)
    const proxy = proxyOf(url)
    /** Next hop of the request: the target, also through a tunnel, or a proxy that forwards the request. */
    const hop = proxy === undefined || url.protocol === 'https:' ? url : proxy
    const context = await contextOf(hop)
    const tunnel = proxy && hop === url ? { proxy, open: opening(await contextOf(proxy)) } : undefined
    const path = url.pathname + url.search
    const request: Dispatcher.RequestOptions = {
      origin: hop.origin,
      method,
      // A forwarding proxy needs the absolute form of the URL (RFC 9112 §3.2.2).
      path: hop === url ? path : url.origin + path,
      headers: {
        ...headers,
        'user-agent': userAgent,
        ...(hop !== url && { host: url.host, ...proxyAuthorization(hop) }),
      },
      body: body ?? null,
      signal: signal ? AbortSignal.any([signal, over]) : over,
    }
    const alone = async () => {
      const agent = agentOf(context, tunnel)
      try {
        return await read(await agent.request({ ...request, reset: true }), most)
      } finally {
        void agent.destroy()
      }
    }
    try {
      if (!repeatable) return await alone()
      const answer = await keptAgentOf(context, tunnel)
        .request(request)
        .catch((error: NodeJS.ErrnoException) => {
          if (!CLOSED.has(error.code) || !ofUsed.has(error)) throw error
        })
      return await (answer ? read(answer, most) : alone())
    } catch (error) {
      throw withSystemCode(error)
    }
  }
  return tracer ? traced(tracer, sendRequest) : sendRequest
}

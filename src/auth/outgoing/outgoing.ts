import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import {
  type AgentOptions,
  Agent as HttpsAgent,
  type RequestOptions as HttpsRequestOptions,
  request as httpsRequest,
} from 'node:https'
import type { SecureContext } from 'node:tls'
import type { Clock } from '../../base/clock.ts'
import type { Tracer } from '../../base/tracing.ts'
import { ownError } from '../safe-cause.ts'
import type { Trust } from './authority.ts'
import { serverNameOf } from './hosts.ts'
import { proxyAuthorization } from './proxies.ts'
import { tracedRequests } from './traced-requests.ts'
import { tunnelled } from './tunnel.ts'

/** Maximum size of an answer in bytes, unless the settings have another one. */
const MOST = 1_048_576
/** Options of an agent that reuses connections. At most 10 calls to a cluster run at once. */
const KEPT = { keepAlive: true, maxFreeSockets: 10 } as const

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

type Answered = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** Errors of 2xx answers that exceed the size limit. */
const large = new WeakSet<object>()

const tooLarge = ({ statusCode = 0 }: IncomingMessage, most: number): Error => {
  const error = ownError('answer', `answer larger than ${most === MOST ? '1 MiB' : `${most / 1024} KiB`}`)
  if (statusCode >= 200 && statusCode < 300) large.add(error)
  return error
}

/** Returns true if the call failed because a 2xx answer exceeds the size limit. */
export const isGoodButLarge = (error: unknown): boolean => error instanceof Error && large.has(error)

type Send = (options: RequestOptions, body: string | undefined, state: { reused: boolean }) => Promise<Answered>

/**
 * HTTP client for outgoing calls. The client follows no redirect, reads at most `most` bytes of an answer, and uses
 * plain http only where `mayBeHttp` allows it.
 */
export const outgoing = ({ clock, userAgent, limit, most = MOST, trust, proxyOf, mayBeHttp, tracer }: Settings) => {
  const agentOf = agents()

  /** Resolves the next hop of a request (target or proxy), its options and its agent. */
  const wayTo = async (url: URL) => {
    const proxy = proxyOf(url)
    const secure = url.protocol === 'https:'
    const next = proxy === undefined || secure ? url : proxy
    const context = next.protocol === 'https:' ? await trust(next) : undefined
    const through =
      proxy && secure ? { proxy, userAgent, limit: () => clock.timeout(limit), trust: () => trust(proxy) } : undefined
    const make = (options: AgentOptions): HttpAgent => {
      if (next.protocol !== 'https:') return new HttpAgent(options)
      const agent = new HttpsAgent({ ...options, ...(context && { secureContext: context }) })
      return through ? tunnelled(agent, through) : agent
    }
    const target: HttpsRequestOptions =
      next === url
        ? {}
        : // A forwarding proxy needs the absolute form of the URL (RFC 9112 §3.2.2).
          {
            path: url.origin + url.pathname + url.search,
            headers: { host: url.host, ...proxyAuthorization(next) },
            servername: serverNameOf(next),
          }
    const agent = (keep: boolean) =>
      agentOf(context, `${keep} ${next.protocol} ${through?.proxy.href ?? ''}`, () => make(keep ? KEPT : {}))
    return { next, target, agent }
  }

  const sendRequest = async ({
    url: address,
    method,
    headers,
    body,
    signal,
    repeatable,
  }: OutgoingRequest): Promise<Answered> => {
    const url = new URL(address)
    const over = clock.timeout(limit)
    if (url.protocol !== 'https:' && !(url.protocol === 'http:' && mayBeHttp(url)))
      throw ownError('answer', `${url.host} is not called over plain http because outgoing.http_hosts does not list it`)
    const { next, target, agent } = await wayTo(url)
    const send = sender(next, most)
    const options: RequestOptions = {
      ...target,
      method,
      headers: {
        ...headers,
        ...target.headers,
        'user-agent': userAgent,
        ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
      },
      signal: signal ? AbortSignal.any([signal, over]) : over,
    }
    const state = { reused: false }
    try {
      return await send({ ...options, agent: agent(repeatable) }, body, state)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (!state.reused || (code !== 'ECONNRESET' && code !== 'EPIPE')) throw error
      return send({ ...options, agent: agent(false) }, body, state)
    }
  }
  return tracer ? tracedRequests(tracer, sendRequest) : sendRequest
}

/** Caches agents by TLS context and name. */
const agents = () => {
  const system = {}
  const known = new WeakMap<object, Map<string, HttpAgent>>()
  return (context: SecureContext | undefined, name: string, make: () => HttpAgent): HttpAgent => {
    const own = known.get(context ?? system) ?? new Map<string, HttpAgent>()
    known.set(context ?? system, own)
    const agent = own.get(name) ?? make()
    own.set(name, agent)
    return agent
  }
}

const sender =
  (url: URL, most: number): Send =>
  (options, body, state) =>
    new Promise((resolve, reject) => {
      const sent = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, options, (response) => {
        const chunks: Buffer[] = []
        let size = 0
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk)
          size += chunk.length
          if (size > most) sent.destroy(tooLarge(response, most))
        })
        response.on('error', reject)
        response.on('end', () => {
          const headers = Object.fromEntries(
            Object.entries(response.headers).map(([name, value]) => [name, String(value)]),
          )
          resolve({ status: response.statusCode ?? 0, headers, body: Buffer.concat(chunks) })
        })
      })
      sent.on('error', (error) => {
        state.reused = sent.reusedSocket
        reject(error)
      })
      sent.end(body)
    })

import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import {
  type AgentOptions,
  Agent as HttpsAgent,
  type RequestOptions as HttpsRequestOptions,
  request as httpsRequest,
} from 'node:https'
import type { SecureContext } from 'node:tls'
import type { Clock } from '../clock.ts'
import type { Trust } from './authority.ts'
import { serverNameOf } from './hosts.ts'
import { proxyAuthorization } from './proxies.ts'
import { ownError } from './safe-cause.ts'
import { tunnelled } from './tunnel.ts'

const LIMIT = 1_048_576
/** A connection is kept for the next call, as many as calls of a cluster run at once. */
const KEPT = { keepAlive: true, maxFreeSockets: 10 } as const

/** How those whom we ask are reached. */
export type Reach = {
  /** File of an authority that is trusted beside those of the system. */
  readonly caPath?: string | undefined
  /** The proxy through which an address is asked; undefined: none. */
  readonly proxyOf: (url: URL) => URL | undefined
  /** Whether an address may be asked over plain http. */
  readonly mayBeHttp: (url: URL) => boolean
}

type Settings = Pick<Reach, 'proxyOf' | 'mayBeHttp'> & {
  readonly clock: Clock
  /** Who asks, for the log of who is asked. */
  readonly userAgent: string
  /** Milliseconds for all of one call. */
  readonly limit: number
  readonly trust: Trust
}

export type OutgoingRequest = {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  readonly signal?: AbortSignal | undefined
  /** Whether nothing changes by it. Only then it goes over a kept connection, which may end just as it is sent, and once more where that is so. */
  readonly repeatable: boolean
}

export type Answered = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** Answers of a 2xx that were larger than we take. */
const large = new WeakSet<object>()

const tooLarge = ({ statusCode = 0 }: IncomingMessage): Error => {
  const error = ownError('answer', 'answer larger than 1 MiB')
  if (statusCode >= 200 && statusCode < 300) large.add(error)
  return error
}

/** Whether a call failed because a good answer was too large. */
export const isGoodButLarge = (error: unknown): boolean => error instanceof Error && large.has(error)

type Send = (options: RequestOptions, body: string | undefined, state: { reused: boolean }) => Promise<Answered>

/** Asks others: no redirect is followed, at most 1 MiB of answer, plain http only where that is allowed. Rejects with what failed. */
export const outgoing = ({ clock, userAgent, limit, trust, proxyOf, mayBeHttp }: Settings) => {
  const agentOf = agents()

  /** Where a request goes, and by whose connections. */
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
        : // The whole address is told to a proxy that does not only pass bytes on (RFC 9112 §3.2.2).
          {
            path: url.origin + url.pathname + url.search,
            headers: { host: url.host, ...proxyAuthorization(next) },
            servername: serverNameOf(next),
          }
    const agent = (keep: boolean) =>
      agentOf(context, `${keep} ${next.protocol} ${through?.proxy.href ?? ''}`, () => make(keep ? KEPT : {}))
    return { next, target, agent }
  }

  return async ({ url: address, method, headers, body, signal, repeatable }: OutgoingRequest): Promise<Answered> => {
    const url = new URL(address)
    const over = clock.timeout(limit)
    if (url.protocol !== 'https:' && !(url.protocol === 'http:' && mayBeHttp(url)))
      throw ownError('answer', `${url.host} is not asked over plain http, unless outgoing.http_hosts names it`)
    const { next, target, agent } = await wayTo(url)
    const send = sender(next)
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
}

/** Keeps agents by whom they trust, and by name. */
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
  (url: URL): Send =>
  (options, body, state) =>
    new Promise((resolve, reject) => {
      const sent = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, options, (response) => {
        const chunks: Buffer[] = []
        let size = 0
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk)
          size += chunk.length
          if (size > LIMIT) sent.destroy(tooLarge(response))
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

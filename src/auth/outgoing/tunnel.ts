import { request as httpRequest } from 'node:http'
import { type Agent as HttpsAgent, request as httpsRequest, type RequestOptions } from 'node:https'
import { isIPv6, type Socket } from 'node:net'
import type { SecureContext } from 'node:tls'
import { ownError } from '../safe-cause.ts'
import { hostOf, serverNameOf } from './hosts.ts'
import { proxyAuthorization } from './proxies.ts'

type Through = {
  readonly proxy: URL
  /** TLS context for the connection to an https proxy. */
  readonly trust: () => Promise<SecureContext | undefined>
  readonly userAgent: string
  /** Timeout signal for the proxy's answer. */
  readonly limit: () => AbortSignal
}

/** Opens a connection to `host:port` through a proxy (CONNECT, RFC 9110 §9.3.6). Error messages name the proxy. */
const connect = async ({ proxy, trust, userAgent, limit }: Through, place: string): Promise<Socket> => {
  const secure = proxy.protocol === 'https:'
  const secureContext = secure ? await trust() : undefined
  return new Promise((resolve, reject) => {
    const asked = (secure ? httpsRequest : httpRequest)({
      host: hostOf(proxy),
      servername: serverNameOf(proxy),
      port: proxy.port || (secure ? 443 : 80),
      method: 'CONNECT',
      path: place,
      headers: { host: place, 'user-agent': userAgent, ...proxyAuthorization(proxy) },
      agent: false,
      signal: limit(),
      ...(secureContext && { secureContext }),
    })
    asked.once('connect', ({ statusCode = 0 }, socket: Socket, early) => {
      if (statusCode >= 200 && statusCode < 300) {
        socket.unshift(early)
        return resolve(socket)
      }
      socket.destroy()
      reject(ownError('proxy', `the proxy ${proxy.host} answered with status ${statusCode}`))
    })
    asked.once('error', ({ name, code = name }: NodeJS.ErrnoException) =>
      reject(
        ownError(
          'proxy',
          `the proxy ${proxy.host} ${code === 'ABORT_ERR' ? 'does not answer' : `cannot be reached (${code})`}`,
        ),
      ),
    )
    asked.end()
  })
}

type Options = RequestOptions & { readonly socket?: Socket }

/** Changes an agent so that its connections go through a proxy. */
export const tunnelled = (agent: HttpsAgent, through: Through): HttpsAgent => {
  const secure: (options: Options) => unknown = agent.createConnection.bind(agent)
  return Object.assign(agent, {
    createConnection: (options: Options, done: (error: unknown, socket?: unknown) => void): undefined => {
      const { host, port } = options
      connect(through, `${isIPv6(host ?? '') ? `[${host}]` : host}:${port}`)
        .then((socket) => secure({ ...options, socket }))
        .then((socket) => done(null, socket), done)
    },
  })
}

import { once } from 'node:events'
import { createServer, request as forward, type IncomingMessage } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { Scope } from './listen.ts'

type Asked = {
  readonly method: string
  /** `host:port` of a CONNECT request, or the absolute URL. */
  readonly place: string
  readonly agent: string | undefined
  readonly authorization: string | undefined
}

/**
 * A forward proxy that resolves every name to the local machine. Requires authentication only if `credentials` are set.
 * Closes itself.
 */
export const proxyStandIn = async (
  t: Scope,
  tls?: { readonly name: string; readonly key: string; readonly cert: string },
) => {
  const state = {
    asked: [] as Asked[],
    /** Required `name:password`. */
    credentials: undefined as string | undefined,
    /** Answer to a CONNECT request instead of a tunnel; empty: no answer. */
    lie: undefined as string | undefined,
    /** Open tunnels. */
    tunnels: new Set<Socket>(),
  }
  const note = ({ method = '', url = '', headers }: IncomingMessage): boolean => {
    const { 'proxy-authorization': authorization, 'user-agent': agent } = headers
    state.asked.push({ method, place: url, agent, authorization })
    const wanted = state.credentials && `Basic ${Buffer.from(state.credentials).toString('base64')}`
    return wanted === undefined || wanted === authorization
  }

  const server = tls ? createSecureServer(tls) : createServer()
  server.on('connect', (request: IncomingMessage, near: Socket) => {
    state.tunnels.add(near)
    near.on('error', () => {})
    near.on('close', () => state.tunnels.delete(near))
    const lie = note(request) ? state.lie : 'HTTP/1.1 407 Proxy Authentication Required\r\n\r\n'
    if (lie === '') return
    if (lie !== undefined) return void near.end(lie)
    const far = connect(Number(/:(\d+)$/.exec(request.url!)?.[1]), '127.0.0.1', () => {
      near.write('HTTP/1.1 200 Connection established\r\n\r\n')
      near.pipe(far).pipe(near)
    })
    far.on('error', () => near.destroy())
    far.on('close', () => near.destroy())
    near.on('close', () => far.destroy())
  })
  server.on('request', (request, response) => {
    if (!note(request)) return void response.writeHead(407).end()
    const { 'proxy-authorization': _, ...headers } = request.headers
    const { port, pathname, search } = new URL(request.url!)
    const options = { host: '127.0.0.1', port, path: pathname + search, method: request.method, headers }
    const sent = forward(options, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(response)
    })
    sent.on('error', () => response.destroy())
    request.pipe(sent)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(async () => {
    for (const tunnel of state.tunnels) tunnel.destroy()
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return Object.assign(state, { host, url: `http${tls ? 's' : ''}://${host}` })
}

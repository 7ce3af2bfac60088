import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { Socket } from 'node:net'
import { type Clock, LONGEST_MS } from '../../base/clock.ts'
import { headerBytes, MOST_HEADERS } from '../memory/arriving-requests.ts'
import { cutStalled, type Patience } from '../memory/stalled.ts'

/** Limits of a connection. Times of the limits are in ms. */
export type WireSettings = {
  readonly headersTimeout: number
  readonly requestTimeout: number
  /** Time after which an idle connection is closed. */
  readonly keepAliveTimeout: number
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer }
}

/**
 * A server and its open connections. `handle` replaces the request handler of the server, also while it listens.
 * `largeHeaders` returns the bytes of large headers that are in memory.
 */
export type Port = {
  readonly server: Server
  readonly sockets: ReadonlySet<Socket>
  readonly handle: (handler: RequestListener) => void
  readonly largeHeaders: () => number
}

/**
 * Maximum number of connections that wait to be accepted; the system has its own limit. The system resets further
 * connections.
 */
const BACKLOG = 4_096

/**
 * Time (ms) without traffic after which the system probes a connection: at most ten times, once a second. So an idle
 * connection ends 40 s after its client has vanished. For sent data `cutStalled` finds such clients.
 */
const PROBE_MS = 30_000

/** Creates a server with the limits of the service. The new server does not listen yet and has no request handler. */
export const openPort = (
  { headersTimeout, requestTimeout, keepAliveTimeout, tls }: WireSettings,
  clock: Clock,
  patience?: Patience,
): Port => {
  const wire = {
    headersTimeout,
    requestTimeout,
    keepAliveTimeout: Math.min(keepAliveTimeout, LONGEST_MS),
    maxHeaderSize: MOST_HEADERS,
    connectionsCheckingInterval: 1000,
    keepAlive: true,
    keepAliveInitialDelay: PROBE_MS,
    requireHostHeader: false,
  }
  const server = tls ? createSecureServer({ ...wire, ...tls, minVersion: 'TLSv1.2' }) : createServer(wire)
  // Any other expectation than 100-continue is ignored, because a bare 417 helps no client.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  const sockets = new Set<Socket>()
  const headers = headerBytes(server, clock)
  server.on(tls ? 'secureConnection' : 'connection', (socket: Socket) => {
    sockets.add(socket)
    headers.watch(socket)
    // Each pipelined request adds a `close` listener, so the default limit of listeners would log warnings.
    socket.setMaxListeners(0)
    socket.once('close', () => sockets.delete(socket))
  })
  cutStalled({ server, sockets }, clock, patience)
  const handle = (handler: RequestListener): void =>
    void server.removeAllListeners('request').on('request', headers.noting(handler))
  return { server, sockets, handle, largeHeaders: headers.held }
}

/** Address to listen on, and the settings that change the port and the host. */
type ListenAddress = {
  readonly host: string
  readonly port: number
  readonly choose: { readonly port: string; readonly host: string }
}

const cannot = ({ code }: NodeJS.ErrnoException, { host, port, choose }: ListenAddress): string | undefined => {
  if (code === 'EADDRINUSE') return `port ${port} is in use: choose a different port with ${choose.port}`
  if (code === 'EACCES') return `this user may not listen on port ${port}: choose a different port with ${choose.port}`
  const nowhere = ['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN', 'EINVAL'].includes(code ?? '')
  return nowhere ? `${host} is not an address of this machine: choose another with ${choose.host}` : undefined
}

/** Listens on the address; fails with the cause and the setting to change. */
export const bind = ({ server }: Port, place: ListenAddress): Promise<void> =>
  new Promise((listening, failed) => {
    const onError = (error: Error) => failed(new Error(cannot(error, place) ?? error.message, { cause: error }))
    server.once('error', onError)
    server.listen({ host: place.host, port: place.port, backlog: BACKLOG }, () => {
      server.off('error', onError)
      listening()
    })
  })

/** Stops accepting connections and waits until the open ones close. */
export const unbind = ({ server }: Pick<Port, 'server'>): Promise<void> =>
  new Promise((closed) => void server.close(() => closed()))

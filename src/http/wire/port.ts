import { createServer, type Server } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { Socket } from 'node:net'
import type { Clock } from '../../clock.ts'
import { cutStalled, type Patience } from './stalled.ts'

/** The limits of a connection. Times are milliseconds. */
export type WireSettings = {
  readonly headersTimeout: number
  readonly requestTimeout: number
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer }
}

/** A server and its open connections. Who answers its requests may change while it listens. */
export type Port = { readonly server: Server; readonly sockets: ReadonlySet<Socket> }

export const HEADER_LIMIT = 65_536
const KEEP_ALIVE_MS = 72_000
/** Connections that may wait until a busy process takes them; the system has a bound of its own. One beyond it is reset. */
const BACKLOG = 4_096

/** A server with the limits of the service, not yet listening, which answers nobody. */
export const openPort = (
  { headersTimeout, requestTimeout, tls }: WireSettings,
  clock: Clock,
  patience?: Patience,
): Port => {
  const wire = {
    headersTimeout,
    requestTimeout,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: HEADER_LIMIT,
    connectionsCheckingInterval: 1000,
    requireHostHeader: false,
  }
  const server = tls ? createSecureServer({ ...wire, ...tls, minVersion: 'TLSv1.2' }) : createServer(wire)
  const sockets = new Set<Socket>()
  server.on(tls ? 'secureConnection' : 'connection', (socket: Socket) => {
    sockets.add(socket)
    // Each request of those that a connection brings at once waits for its end.
    socket.setMaxListeners(0)
    socket.once('close', () => sockets.delete(socket))
  })
  cutStalled({ server, sockets }, clock, patience)
  return { server, sockets }
}

/** Where to listen, and how a user chooses another port or address. */
type ListenAddress = {
  readonly host: string
  readonly port: number
  readonly choose: { readonly port: string; readonly host: string }
}

const cannot = ({ code }: NodeJS.ErrnoException, { host, port, choose }: ListenAddress): string | undefined => {
  if (code === 'EADDRINUSE') return `port ${port} is taken: choose another with ${choose.port}`
  if (code === 'EACCES') return `port ${port} is not allowed to this user: choose another with ${choose.port}`
  const nowhere = ['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN', 'EINVAL'].includes(code ?? '')
  return nowhere ? `${host} is no address of this machine: choose another with ${choose.host}` : undefined
}

/** Listens at the place, or says what is in the way. */
export const bind = ({ server }: Port, place: ListenAddress): Promise<void> =>
  new Promise((listening, failed) => {
    const onError = (error: Error) => failed(new Error(cannot(error, place) ?? error.message, { cause: error }))
    server.once('error', onError)
    server.listen({ host: place.host, port: place.port, backlog: BACKLOG }, () => {
      server.off('error', onError)
      listening()
    })
  })

/** Takes no more connections and waits for those that there are. */
export const unbind = ({ server }: Pick<Port, 'server'>): Promise<void> =>
  new Promise((closed) => void server.close(() => closed()))

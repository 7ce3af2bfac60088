import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../../base/clock.ts'
import { Refusal } from '../../base/errors.ts'
import { HEADERS_BUSY } from '../memory/arriving-requests.ts'
import { addressIn } from './client-address.ts'
import { errorBody, refusalHeaders } from './error-reply.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The open connections; a stop uses them to separate idle connections from busy ones. */
    sockets: ReadonlySet<Socket>
    clock: Clock
  }
}

/**
 * Returns the response in progress on a connection, if any. The function reads a private field of Node.js, because
 * `closeIdleConnections` treats a connection with a written but unsent response as idle and cuts it.
 */
export const answering = (socket: Socket): unknown => Reflect.get(socket, '_httpMessage') ?? undefined

type ClientError = Error & { readonly code?: string }

const refusals: Readonly<Record<string, () => Refusal>> = {
  HPE_HEADER_OVERFLOW: () => new Refusal('headers_too_large'),
  [HEADERS_BUSY]: () => new Refusal('busy'),
}

/** Called with the address of a client for each request that is refused because of its large headers. */
export type OnLargeHeaders = (client: string) => void

/**
 * Answers input that is not a valid HTTP request with the common error body, then closes the connection. A request
 * timeout is answered with a bare 408.
 */
export const brokenRequest = (
  { code }: ClientError,
  socket: Socket,
  clock: Clock,
  onLargeHeaders?: OnLargeHeaders,
): void => {
  const begun = answering(socket)
  const sent = typeof begun === 'object' && begun !== null && 'headersSent' in begun && begun.headersSent === true
  if (code === 'ECONNRESET' || !socket.writable || sent) {
    socket.destroy()
    return
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    socket.end('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n', () =>
      socket.destroySoon(),
    )
    return
  }
  const refusal = refusals[code ?? '']?.() ?? new Refusal('invalid_argument', 'request is not valid HTTP')
  if (refusal.reason === 'headers_too_large') onLargeHeaders?.(addressIn(socket.remoteAddress ?? '') ?? 'unknown')
  const id = randomUUID()
  const body = JSON.stringify(errorBody(refusal, id))
  const headers = {
    ...refusalHeaders(refusal),
    'x-request-id': id,
    'x-content-type-options': 'nosniff',
    connection: 'close',
    'content-length': String(Buffer.byteLength(body)),
  }
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}\r\n${head.join('')}\r\n${body}`)
  lingering(socket, clock)
}

const LINGER = 500

/** Keeps reading for `LINGER` ms, so that the client receives the response before a reset. */
const lingering = (socket: Socket, { after }: Clock): void => {
  socket.removeAllListeners('data').on('data', () => undefined)
  socket.resume()
  after(LINGER, () => socket.destroy()).unref()
}

import { randomUUID } from 'node:crypto'
import { type ServerResponse, STATUS_CODES } from 'node:http'
import { Server, type Socket } from 'node:net'
import type { Clock } from '../../base/clock.ts'
import { Refusal } from '../../base/errors.ts'
import { HEADERS_BUSY } from '../memory/arriving-requests.ts'
import { addressIn } from './client-address.ts'
import { errorBody, refusalHeaders } from './error-reply.ts'
import { type Port, unbind } from './port.ts'

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
const answering = (socket: Socket): unknown => Reflect.get(socket, '_httpMessage') ?? undefined

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

const LOOK_MS = 25
/**
 * Number of consecutive checks without new bytes (1 s in total) after which a connection is idle and may be closed
 * without losing a request. Checks are counted instead of time, because between two checks all received bytes are read,
 * however late the checks run.
 */
const QUIET_LOOKS = 40

/** Makes this response the last of its connection (`Connection: close`). */
const closeAfterResponse = (answer: ServerResponse): void => {
  if (!answer.headersSent) answer.shouldKeepAlive = false
}

/** Waits until every connection is closed or idle, at most until the given time. */
const waitUntilIdle = ({ monotonic, sleep }: Clock, until: number) => {
  const seen = new WeakMap<Socket, { readonly read: number; readonly looks: number }>()
  const isDone = (socket: Socket): boolean => {
    if (socket.destroyed) return true
    const { bytesRead: read } = socket
    const before = seen.get(socket)
    const looks = answering(socket) === undefined && before?.read === read ? before.looks + 1 : 0
    seen.set(socket, { read, looks })
    return looks >= QUIET_LOOKS
  }
  return async (sockets: Iterable<Socket>): Promise<void> => {
    const awaited = new Set(sockets)
    while (monotonic() < until) {
      for (const socket of awaited) if (isDone(socket)) awaited.delete(socket)
      if (awaited.size === 0) return
      await sleep(LOOK_MS)
    }
  }
}

/**
 * Leaves a port without resetting connections; every response closes its connection. New requests are answered, so that
 * probes see the stop, until all current connections are idle; then the port is closed. Returns the number of requests
 * cut because they had no response after `patience` ms.
 */
export const drain = async (
  { server, sockets }: Pick<Port, 'server' | 'sockets'>,
  clock: Clock,
  patience: number,
): Promise<number> => {
  const calm = waitUntilIdle(clock, clock.monotonic() + patience)
  server.prependListener('request', (_, answer: ServerResponse) => closeAfterResponse(answer))
  for (const socket of sockets) {
    const answer = answering(socket)
    if (answer !== undefined) closeAfterResponse(answer as ServerResponse)
  }
  await calm(sockets)
  // `close` of the HTTP server would cut connections with a request that is not read yet.
  Server.prototype.close.call(server)
  await calm(sockets)
  const left = [...sockets].filter((socket) => answering(socket) !== undefined).length
  for (const socket of sockets) socket.destroy()
  await unbind({ server })
  return left
}

import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { arrivals } from '../../base/event-loop.ts'
import { whenSent } from './room.ts'

declare module 'node:http' {
  interface IncomingMessage {
    /** True if the headers have more than `HEADER_LIMIT` bytes. */
    large?: boolean
    /** The request as its route receives it, for the log line of a fault. */
    routed?: FastifyRequest
  }
}

/** Maximum bytes of a request target and its headers without `If-None-Match`. */
export const HEADER_LIMIT = 65_536
/** Maximum bytes of all headers of a request. */
export const MOST_HEADERS = 1_048_576
/** Maximum bytes of all headers over `HEADER_LIMIT` together, of all connections. */
const TOGETHER = 16 * MOST_HEADERS
/**
 * Maximum number of reads that the headers of one request may need. The parser copies the header that it reads at each
 * of them.
 */
const MOST_READS = 2_048

/** Code of the client error if the headers of all connections have too many bytes together. */
export const HEADERS_BUSY = 'HEADERS_BUSY'

type Reading = {
  /** Bytes and reads since the previous request. */
  bytes: number
  reads: number
  /** Part of the bytes that counts against the sum. */
  counted: number
  refused: boolean
  request: IncomingMessage | undefined
}

/**
 * Bounds the bytes of large headers of all connections together, from their arrival until their requests are answered.
 * A connection over the bound causes a client error. `watch` observes a new connection, and `noting` must wrap the
 * request handler of the server.
 */
export const headerBytes = (server: Server, together = TOGETHER) => {
  const readings = new WeakMap<Socket, Reading>()
  let sum = 0

  const refuse = (socket: Socket, reading: Reading): void => {
    reading.refused = true
    const error = Object.assign(new Error('the headers of all connections are too large'), { code: HEADERS_BUSY })
    if (!server.emit('clientError', error, socket)) socket.destroy()
  }

  const count = (socket: Socket, reading: Reading, length: number): void => {
    if (reading.refused || (reading.request && !reading.request.complete)) return
    reading.bytes += length
    reading.reads++
    if (reading.bytes <= HEADER_LIMIT) return
    const more = reading.bytes - reading.counted
    if (sum + more > together || reading.reads > MOST_READS) return refuse(socket, reading)
    sum += more
    reading.counted = reading.bytes
  }

  const note = (reading: Reading, request: IncomingMessage, response: ServerResponse): void => {
    const { counted } = reading
    Object.assign(reading, { request, bytes: 0, reads: 0, counted: 0 })
    if (counted === 0) return
    request.large = true
    whenSent(response, request.socket, () => void (sum -= counted))
  }

  return {
    watch: (socket: Socket): void => {
      const reading: Reading = { bytes: 0, reads: 0, counted: 0, refused: false, request: undefined }
      readings.set(socket, reading)
      socket.prependListener('data', (chunk: Buffer) => count(socket, reading, chunk.length))
      socket.once('close', () => {
        sum -= reading.counted
        reading.counted = 0
      })
    },
    noting:
      (handle: RequestListener): RequestListener =>
      (request, response) => {
        const reading = readings.get(request.socket)
        if (reading?.refused) return
        if (reading) note(reading, request, response)
        handle(request, response)
      },
    /** Bytes of large headers at the moment. */
    held: (): number => sum,
  }
}

/**
 * Maximum number of pipelined requests that wait on one connection, and maximum bytes of those of all connections
 * together. A connection may always have `ALONE` bytes.
 */
const [MOST_WAITING, WAITING_TOGETHER, ALONE] = [256, 16_777_216, 65_536]
/** Bytes of a waiting request without its target and headers. */
const OVERHEAD = 2_048

/** Waiting requests of a connection. */
type Waiting = { requests: number; bytes: number; readonly onClose: () => void }

/** Bytes of the memory of a waiting request. */
const bytesOf = ({ url = '', rawHeaders }: IncomingMessage): number =>
  rawHeaders.reduce((sum, { length }) => sum + length, OVERHEAD + url.length)

/** Returns a function that runs one queued task per turn of the event loop. */
const onePerTurn = (): ((work: () => void) => void) => {
  const queue: (() => void)[] = []
  const next = (): void => {
    const work = queue.shift()!
    if (queue.length > 0) setImmediate(next)
    work()
  }
  return (work) => {
    if (queue.push(work) === 1) setImmediate(next)
  }
}

/**
 * Handles pipelined requests one after another, each in its own turn of the event loop; all connections share one
 * queue. Otherwise all requests in 64 KiB of input would be handled in one turn, because Node parses them together. A
 * connection with too many or too large waiting requests is cut.
 */
export const oneAfterAnother = (handle: RequestListener, together = WAITING_TOGETHER): RequestListener => {
  const waiting = new WeakMap<Socket, Waiting>()
  const later = onePerTurn()
  let sum = 0
  const add = (own: Waiting, bytes: number): void => {
    own.bytes += bytes
    sum += bytes
  }
  const waitingOn = (socket: Socket): Waiting => {
    const own: Waiting = waiting.get(socket) ?? { requests: 0, bytes: 0, onClose: () => add(own, -own.bytes) }
    waiting.set(socket, own)
    return own
  }
  return (request, response) => {
    arrivals.count++
    // Node assigns the socket to a response after it has sent the previous response.
    if (response.socket) return handle(request, response)
    const { socket } = request
    const own = waitingOn(socket)
    const bytes = bytesOf(request)
    const isTooMuch = own.bytes + bytes > ALONE && sum + bytes > together
    if (own.requests >= MOST_WAITING || isTooMuch) return void socket.destroy()
    if (own.requests++ === 0) socket.once('close', own.onClose)
    add(own, bytes)
    response.once('socket', () => {
      if (--own.requests === 0) socket.off('close', own.onClose)
      // After the end of the connection nothing is counted.
      add(own, -Math.min(bytes, own.bytes))
      later(() => handle(request, response))
    })
  }
}

/**
 * Handles requests so that a fault of one answer ends this answer alone: at the first `error` event of a response,
 * `log` is called and the connection is cut. Only answers to HTTP/1.1 are chunked (RFC 9112 §6.1).
 */
export const contained =
  (handle: RequestListener, log: (request: IncomingMessage, error: unknown) => void): RequestListener =>
  (request, response) => {
    let isLogged = false
    response.on('error', (error) => {
      if (!isLogged) log(request, error)
      isLogged = true
      response.destroy()
    })
    response.useChunkedEncodingByDefault &&= request.httpVersion === '1.1'
    try {
      handle(request, response)
    } catch (error) {
      response.emit('error', error)
    }
  }

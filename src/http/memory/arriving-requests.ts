import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'
import type { Clock } from '../../base/clock.ts'
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

/** Interval (ms) between two looks at all connections. */
const LOOK = 200
/** Bytes since the previous request up to which the exact end of a request does not matter. */
const ROUGH = 4_096

type Reading = {
  /** `bytesRead` of the socket at the end of the previous request. */
  base: number
  /** True while a body of unknown length arrives. */
  chunked: boolean
  /** Part of the bytes since `base` that counts against the sum. */
  counted: number
  /** Counts each read of large headers. */
  listener: (() => void) | undefined
  reads: number
  refused: boolean
}

/** Bytes of the request line and the headers, as most clients write them. */
const headBytes = ({ method = '', url = '', rawHeaders }: IncomingMessage): number =>
  rawHeaders.reduce((sum, { length }) => sum + length + 2, method.length + url.length + 14)

/** Bytes of headers that have not arrived completely. Connections in memory do not count their bytes. */
const arriving = (socket: Socket, { base, chunked, refused }: Reading): number =>
  chunked || refused ? 0 : Math.max(0, socket.bytesRead - base) || 0

/** A connection whose headers arrive, and their bytes so far. */
type Begun = { readonly socket: Socket; readonly reading: Reading; readonly bytes: number }

/** The connections with the most bytes, without which the others have at most `most` bytes. */
const largest = (begun: readonly Begun[], most: number): readonly Begun[] => {
  let all = begun.reduce((sum, { bytes }) => sum + bytes, 0)
  if (all <= most) return []
  const sorted = begun.toSorted((a, b) => b.bytes - a.bytes)
  const count = sorted.findIndex(({ bytes }) => (all -= bytes) <= most)
  return sorted.slice(0, count + 1)
}

/**
 * Bounds the bytes of headers in memory: large ones of all connections together, from their arrival until their requests
 * are answered, and every 200 ms all that have not arrived completely. If the latter are too many, the connections with
 * the most of them are refused. A refused connection causes a client error. `watch` observes a new connection, and
 * `noting` must wrap the request handler of the server. A connection gets a `data` listener only while large headers
 * arrive, because Node.js reads slower with one.
 */
export const headerBytes = (server: Server, clock: Clock, together = TOGETHER) => {
  const readings = new Map<Socket, Reading>()
  let sum = 0

  const refuse = (socket: Socket, reading: Reading): void => {
    reading.refused = true
    const error = Object.assign(new Error('the headers of all connections are too large'), { code: HEADERS_BUSY })
    if (!server.emit('clientError', error, socket)) socket.destroy()
  }

  const count = (socket: Socket, reading: Reading): void => {
    const bytes = arriving(socket, reading)
    if (bytes <= HEADER_LIMIT) return
    const more = bytes - reading.counted
    if (sum + more > together || reading.reads > MOST_READS) return refuse(socket, reading)
    sum += more
    reading.counted = bytes
  }

  const look = (): void => {
    const begun: Begun[] = []
    for (const [socket, reading] of readings) {
      count(socket, reading)
      const bytes = arriving(socket, reading)
      if (bytes === 0) continue
      begun.push({ socket, reading, bytes })
      if (reading.counted === 0 || reading.listener) continue
      reading.reads = 0
      reading.listener = () => {
        reading.reads++
        count(socket, reading)
      }
      socket.prependListener('data', reading.listener)
    }
    for (const { socket, reading } of largest(begun, together)) refuse(socket, reading)
  }

  const note = (reading: Reading, request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request
    count(socket, reading)
    if (reading.refused) return
    const { counted, listener, base } = reading
    const { bytesRead } = socket
    if (listener) socket.off('data', listener)
    reading.chunked = request.headers['transfer-encoding'] !== undefined
    // The parser reads up to 64 KiB at once, so the next request may have begun.
    const end = bytesRead - base > ROUGH ? Math.min(bytesRead, base + headBytes(request)) : bytesRead
    reading.base = end + Number(request.headers['content-length'] ?? 0)
    reading.counted = 0
    reading.listener = undefined
    if (reading.chunked) request.once('end', () => Object.assign(reading, { base: socket.bytesRead, chunked: false }))
    if (counted === 0) return
    request.large = true
    whenSent(response, socket, () => void (sum -= counted))
  }

  const looking = clock.every(LOOK, look)
  server.once('close', looking.cancel)
  return {
    watch: (socket: Socket): void => {
      const reading: Reading = { base: 0, chunked: false, counted: 0, listener: undefined, reads: 0, refused: false }
      readings.set(socket, reading)
      socket.once('close', () => {
        sum -= reading.counted
        readings.delete(socket)
      })
    },
    noting:
      (handle: RequestListener): RequestListener =>
      (request, response) => {
        const reading = readings.get(request.socket)
        if (reading) note(reading, request, response)
        if (!reading?.refused) handle(request, response)
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

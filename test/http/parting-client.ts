import type { Server } from 'node:http'
import { Duplex } from 'node:stream'
import { gunzipSync } from 'node:zlib'

/** Ways in which a client leaves in the middle of an answer. */
export const PARTINGS = ['end', 'close', 'reset', 'write error'] as const
type Parting = (typeof PARTINGS)[number]

/** Answer as received: its bytes, and the number of bytes after each write of the server. */
export type Received = { readonly bytes: Buffer; readonly writes: readonly number[] }

/** Bytes of the answer that the client takes before it leaves, or a test of the answer so far. */
export type Taking = {
  readonly most?: number
  readonly until?: (answer: string) => boolean
  readonly parting?: Parting
}

const broken = (code: string): Error => Object.assign(new Error(code), { code })

/**
 * Sends a request on a connection in memory, whose client leaves after an exact number of bytes. `end` closes only the
 * client's side, so the whole answer is received.
 */
export const exchangeInMemory = (
  server: Server,
  request: string,
  { most = Number.POSITIVE_INFINITY, until, parting = 'close' }: Taking = {},
): Promise<Received> =>
  new Promise((resolve) => {
    const received: Buffer[] = []
    const writes: number[] = []
    let [taken, hasLeft] = [0, false]
    const leave = (done: (error?: Error) => void): void => {
      hasLeft = true
      if (parting === 'write error') return done(broken('EPIPE'))
      if (parting === 'end') {
        socket.push(null)
        return done()
      }
      setImmediate(() => socket.destroy(parting === 'reset' ? broken('ECONNRESET') : undefined))
    }
    const take = (bytes: Buffer, done: (error?: Error) => void): void => {
      const part = hasLeft ? bytes : bytes.subarray(0, most - taken)
      received.push(part)
      writes.push((taken += part.length))
      const isEnough = taken >= most || until?.(Buffer.concat(received).toString('latin1'))
      if (isEnough && !hasLeft) leave(done)
      else done()
    }
    const socket = new Duplex({
      read: () => undefined,
      write: (bytes: Buffer, _, done) => take(bytes, done),
      writev: (chunks, done) => take(Buffer.concat(chunks.map(({ chunk }) => chunk as Buffer)), done),
      final: (done) => {
        if (!hasLeft || parting !== 'end') socket.push(null)
        done()
      },
    })
    socket.on('close', () => resolve({ bytes: Buffer.concat(received), writes }))
    Object.assign(socket, { remoteAddress: '127.0.0.1' })
    server.emit('connection', socket)
    socket.push(request)
    if (most === 0) leave(() => undefined)
  })

/** Body without its chunks. */
const unchunked = (body: Buffer): Buffer => {
  const parts: Buffer[] = []
  for (let at = 0; ; ) {
    const line = body.indexOf('\r\n', at)
    const size = Number.parseInt(body.toString('latin1', at, line), 16)
    if (!(size > 0)) return Buffer.concat(parts)
    parts.push(body.subarray(line + 2, line + 2 + size))
    at = line + 2 + size + 2
  }
}

/** Head of an answer, and its text without chunks and gzip. */
export const readAnswer = ({ bytes }: Received) => {
  const blank = bytes.indexOf('\r\n\r\n')
  const head = bytes.toString('latin1', 0, blank)
  const body = bytes.subarray(blank + 4)
  const plain = /^transfer-encoding: chunked/im.test(head) ? unchunked(body) : body
  const isZipped = /^content-encoding: gzip/im.test(head) && plain.length > 0
  return { status: Number(head.slice(9, 12)), head, text: String(isZipped ? gunzipSync(plain) : plain) }
}

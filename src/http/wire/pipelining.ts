import type { RequestListener } from 'node:http'
import type { Socket } from 'node:net'

/** Requests that may wait on one connection for the answers before theirs. */
const MOST_WAITING = 256

/** Runs one of the works given in each turn of the event loop. */
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
 * Handles the requests that a connection sends without waiting for answers one after another, each in a turn of the event loop of its own,
 * of all connections together. Node parses 64 KiB of them in one piece, and would have all of them handled in that turn. A connection that
 * sends too many is cut.
 */
export const oneAfterAnother = (handle: RequestListener): RequestListener => {
  const waiting = new WeakMap<Socket, number>()
  const later = onePerTurn()
  return (request, response) => {
    // Node gives a response its socket when the response before it is sent.
    if (response.socket) return handle(request, response)
    const { socket } = request
    const others = waiting.get(socket) ?? 0
    if (others >= MOST_WAITING) return void socket.destroy()
    waiting.set(socket, others + 1)
    response.once('socket', () => {
      waiting.set(socket, waiting.get(socket)! - 1)
      later(() => handle(request, response))
    })
  }
}

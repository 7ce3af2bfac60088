import type { RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import { noteArrival } from '../../event-loop.ts'

/** Maximum number of pipelined requests that wait on one connection. */
const MOST_WAITING = 256

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
 * connection with too many waiting requests is cut.
 */
export const oneAfterAnother = (handle: RequestListener): RequestListener => {
  const waiting = new WeakMap<Socket, number>()
  const later = onePerTurn()
  return (request, response) => {
    noteArrival()
    // Node assigns the socket to a response after it has sent the previous response.
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

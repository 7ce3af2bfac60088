import type { Server, Socket } from 'node:net'
import type { Clock } from '../../base/clock.ts'

/** Interval (ms) between checks, and number of consecutive checks without progress before a connection is cut. */
export type Patience = { readonly every: number; readonly looks: number }

/** A reader that receives nothing is cut after 60 to 75 s. */
const patience: Patience = { every: 15_000, looks: 4 }

const within = (of: unknown, name: string): unknown =>
  typeof of === 'object' && of !== null ? Reflect.get(of, name) : undefined

/**
 * Progress of a connection, compared between checks: the completed writes, and the queue of the current write. Node has
 * no public name for that queue; under TLS the handle of the inner plain connection has it.
 */
const takenBy = (socket: Socket): string => {
  const handle = within(socket, '_handle')
  const queued = within(within(handle, '_parent') ?? handle, 'writeQueueSize')
  return `${socket.bytesWritten - socket.writableLength} ${String(queued)}`
}

/**
 * Cuts connections whose client reads nothing of a pending answer, so that unread answers do not fill memory. Slow
 * readers and idle connections stay open.
 */
export const cutStalled = (
  { server, sockets }: { readonly server: Server; readonly sockets: ReadonlySet<Socket> },
  clock: Clock,
  { every, looks }: Patience = patience,
): void => {
  const seen = new WeakMap<Socket, { readonly taken: string; readonly times: number }>()
  const look = (): void => {
    for (const socket of sockets) {
      const taken = socket.writableLength > 0 ? takenBy(socket) : undefined
      const before = seen.get(socket)
      if (taken === undefined) seen.delete(socket)
      else if (before?.taken !== taken) seen.set(socket, { taken, times: 0 })
      else if (before.times + 1 >= looks) socket.destroy()
      else seen.set(socket, { taken, times: before.times + 1 })
    }
  }
  const looking = clock.every(every, look)
  server.once('close', looking.cancel)
}

import type { Server, Socket } from 'node:net'
import type { Clock } from '../../clock.ts'

/** How often the connections are looked at, in milliseconds, and at how many looks in a row a reader may have taken nothing. */
export type Patience = { readonly every: number; readonly looks: number }

/** A reader that takes nothing is cut off after 60 to 75 seconds. */
const patience: Patience = { every: 15_000, looks: 4 }

const within = (of: unknown, name: string): unknown =>
  typeof of === 'object' && of !== null ? Reflect.get(of, name) : undefined

/**
 * Tells one look from the next by what has left for the client: the writes that are done, and what the system has not taken of the one under
 * way. For that Node has no public name; under TLS the handle of the plain connection within knows it.
 */
const takenBy = (socket: Socket): string => {
  const handle = within(socket, '_handle')
  const queued = within(within(handle, '_parent') ?? handle, 'writeQueueSize')
  return `${socket.bytesWritten - socket.writableLength} ${String(queued)}`
}

/** Cuts off readers that take nothing of an answer, so that answers nobody reads do not fill memory. Slow readers and quiet connections stay. */
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

import { type ServerResponse } from 'node:http'
import { Server, type Socket } from 'node:net'
import type { Clock } from '../../clock.ts'
import { answering } from './connections.ts'
import { type Port, unbind } from './port.ts'

const LOOK_MS = 25
/**
 * A connection that has brought nothing at so many looks in a row, for a second, is not being used: it may be closed without anybody losing
 * a request. Looks and not time, for between two of them all that has come is read, however late they are.
 */
const QUIET_LOOKS = 40

/** The answer is the last of its connection, and says so. */
const closeAfterResponse = (answer: ServerResponse): void => {
  if (!answer.headersSent) answer.shouldKeepAlive = false
}

/** Waits until each of the connections is closed, or brings nothing and waits for nothing; no longer than until that moment. */
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
 * Leaves a port without resetting anybody: from now on every answer is the last of its connection. New requests are answered, so that probes
 * see it, until those that were connected have had theirs; then no more connections are taken. Gives the number of requests that had no
 * answer after `patience` milliseconds, and were cut.
 */
export const drain = async ({ server, sockets }: Port, clock: Clock, patience: number): Promise<number> => {
  const calm = waitUntilIdle(clock, clock.monotonic() + patience)
  server.prependListener('request', (_, answer: ServerResponse) => closeAfterResponse(answer))
  for (const socket of sockets) {
    const answer = answering(socket)
    if (answer !== undefined) closeAfterResponse(answer as ServerResponse)
  }
  await calm(sockets)
  // The server's own way to close cuts connections that have asked and are not read yet.
  Server.prototype.close.call(server)
  await calm(sockets)
  const left = [...sockets].filter((socket) => answering(socket) !== undefined).length
  for (const socket of sockets) socket.destroy()
  await unbind({ server })
  return left
}

import { type ServerResponse } from 'node:http'
import { Server, type Socket } from 'node:net'
import type { Clock } from '../../base/clock.ts'
import { answering } from './connections.ts'
import { type Port, unbind } from './port.ts'

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

import { readFile } from 'node:fs/promises'
import type { Server, Socket } from 'node:net'
import type { Clock } from '../../base/clock.ts'
import { addressIn } from '../wire/client-address.ts'

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

/** Tables of the connections of this machine, as Linux has them; empty on other systems. */
export const connectionTables = async (): Promise<string> => {
  const read = (name: string) => readFile(`/proc/net/${name}`, 'latin1').catch(() => '')
  return (await Promise.all(['tcp', 'tcp6'].map(read))).join('')
}

/**
 * Open connections (01) in these tables for which the system repeats data (timer 01) at least the eighth time, about 50 s
 * after the data were sent.
 */
const REPEATED = /: [\dA-F]+:([\dA-F]{4}) ([\dA-F]+):([\dA-F]{4}) 01 [\dA-F:]+ 01:[\dA-F]+ 0{6}(?:0[89A-F]|[1-9A-F].) /g

/** Address in these tables: words of 32 bits in the order of a little-endian machine. */
const addressOf = (hex: string): string | undefined => {
  const bytes = Buffer.from(hex, 'hex').swap32()
  return addressIn(bytes.length === 4 ? bytes.join('.') : bytes.toString('hex').replace(/....(?!$)/g, '$&:'))
}

/** Cuts the connections whose client does not acknowledge data. The system itself gives up after about 15 minutes. */
const cutVanished = (tables: string, sockets: ReadonlySet<Socket>): void => {
  const gone = new Set<string>()
  for (const [, local = '', remote = '', port = ''] of tables.matchAll(REPEATED))
    gone.add(`${Number.parseInt(local, 16)} ${addressOf(remote)} ${Number.parseInt(port, 16)}`)
  if (gone.size === 0) return
  for (const socket of sockets) {
    const { localPort, remoteAddress = '', remotePort } = socket
    if (gone.has(`${localPort} ${addressIn(remoteAddress)} ${remotePort}`)) socket.destroy()
  }
}

/**
 * Cuts connections whose client reads nothing of a pending answer, so that unread answers do not fill memory, and those
 * whose client has vanished. Slow readers and idle connections stay open.
 */
export const cutStalled = (
  { server, sockets }: { readonly server: Server; readonly sockets: ReadonlySet<Socket> },
  clock: Clock,
  { every, looks }: Patience = patience,
  tables = connectionTables,
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
    if (sockets.size > 0) void tables().then((text) => cutVanished(text, sockets))
  }
  const looking = clock.every(every, look)
  server.once('close', looking.cancel)
}

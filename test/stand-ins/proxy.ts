import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** `blackhole`: connections stay open and nothing comes through. `reset`: every connection is broken. `slow`: everything comes later. */
export type Mode = 'pass' | 'blackhole' | 'reset' | 'slow'

/** A link to a port of loopback that can fail. Every mode holds for the connections there are and for new ones; what a blackhole held back goes on when it ends. */
export const startProxy = async (target: number, slowMs = 200) => {
  let mode: Mode = 'pass'
  const sockets = new Set<Socket>()

  const obey = (socket: Socket) => {
    if (mode === 'reset') socket.resetAndDestroy()
    else if (mode === 'blackhole') socket.pause()
    else socket.resume()
  }
  const carry = (from: Socket, to: Socket) => {
    sockets.add(from)
    from.setNoDelay(true)
    const later = (work: () => void) => (mode === 'slow' ? setTimeout(work, slowMs) : work())
    from.on('data', (bytes) => later(() => void to.write(bytes)))
    from.on('end', () => later(() => void to.end()))
    from.on('error', () => to.destroy())
    from.on('close', () => {
      sockets.delete(from)
      to.destroy()
    })
  }
  const server = createServer({ allowHalfOpen: true }, (near) => {
    if (mode === 'reset') {
      near.on('error', () => {})
      near.resetAndDestroy()
      return
    }
    const far = connect({ port: target, host: '127.0.0.1', allowHalfOpen: true })
    carry(near, far)
    carry(far, near)
    obey(near)
    obey(far)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))

  return {
    port: (server.address() as AddressInfo).port,
    set: (to: Mode): void => {
      mode = to
      for (const socket of sockets) obey(socket)
    },
    close: (): void => {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

export type Proxy = Awaited<ReturnType<typeof startProxy>>

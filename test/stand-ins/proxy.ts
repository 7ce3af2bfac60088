import { randomBytes } from 'node:crypto'
import { connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { freePort } from '../free-port.ts'

/**
 * `blackhole`: connections stay open without traffic. `reset`: resets every connection. `refuse`: does not listen.
 * `garbage`: answers with noise.
 */
export type Mode = 'pass' | 'blackhole' | 'reset' | 'refuse' | 'garbage'

const NOISE = 64

/** Distance to the server. */
export type Distance = {
  /** Time in ms by which bytes are late, in each direction. */
  readonly delay?: number
  /** Time in ms from the start of a connection to its first byte, as for TLS and a login. */
  readonly opening?: number
  readonly clock?: Clock
}

/**
 * Starts a proxy to a loopback port that can fail. A mode applies to existing and new connections; traffic held back by
 * a blackhole continues after it.
 */
const startProxy = async (target: number, { delay = 0, opening = 0, clock = systemClock }: Distance = {}) => {
  let mode: Mode = 'pass'
  const sockets = new Set<Socket>()

  const obey = (socket: Socket) => {
    if (mode === 'reset' || mode === 'refuse') socket.resetAndDestroy()
    else if (mode === 'blackhole') socket.pause()
    else socket.resume()
  }
  const late = (work: () => void) => (delay === 0 ? work() : void clock.after(delay, work))
  const carry = (from: Socket, to: Socket, back: boolean) => {
    sockets.add(from)
    from.setNoDelay(true)
    from.on('data', (bytes) => {
      if (mode !== 'garbage') late(() => to.write(bytes))
      else if (!back) from.write(randomBytes(NOISE))
    })
    from.on('end', () => late(() => to.end()))
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
    carry(near, far, false)
    carry(far, near, true)
    if (opening === 0) obey(near)
    else {
      near.pause()
      clock.after(opening, () => obey(near))
    }
    obey(far)
  })
  const listen = (port: number) => new Promise<void>((listening) => server.listen(port, '127.0.0.1', listening))
  const port = await freePort()
  await listen(port)

  return {
    port,
    set: async (to: Mode): Promise<void> => {
      mode = to
      for (const socket of sockets) obey(socket)
      if (to === 'refuse') server.close()
      else if (!server.listening) await listen(port)
    },
    close: (): void => {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

export type Proxy = Awaited<ReturnType<typeof startProxy>>

/**
 * Starts a proxy to a server until the test ends, at a distance if given; returns it with the address through it.
 */
export const linkTo = async (
  t: Pick<Test, 'teardown'>,
  url: string,
  distance?: Distance,
): Promise<{ readonly link: Proxy; readonly url: string }> => {
  const to = new URL(url.replace('esdb:', 'http:'))
  const link = await startProxy(Number(to.port), distance)
  t.teardown(link.close)
  return { link, url: url.replace(to.host, `127.0.0.1:${link.port}`) }
}

import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Document } from 'mongodb'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { commandIn, MESSAGE, messagesOf } from './mongodb.ts'

/** A command that a client sent, and the collection that it names; not a heartbeat. */
export type Command = { readonly name: string; readonly on: string }

type Counted = {
  /** Time in ms that the server seems to take for each command, one command after the other. */
  readonly commandMs?: number
  /** True for commands whose answers are swallowed. */
  readonly swallows?: (command: Document) => boolean
  readonly clock?: Clock
}

/**
 * Starts a proxy to a server with MongoDB's protocol. It counts commands, can make the server slow, and can swallow
 * answers of commands that the server has carried out.
 */
export const countedMongo = async (
  t: { readonly teardown: (done: () => unknown) => void },
  url: string,
  { commandMs = 0, swallows = () => false, clock = systemClock }: Counted = {},
) => {
  const target = new URL(url)
  const commands: Command[] = []
  const sockets = new Set<Socket>()
  let turn: Promise<void> = Promise.resolve()
  let waiting = 0

  const carry = (near: Socket) => {
    const far = connect({ port: Number(target.port), host: target.hostname })
    const swallowed = new Set<number>()
    /** What follows the answers of commands that the server carries out now, by their number. */
    const under = new Map<number, () => void>()
    const forward = messagesOf((message) => {
      const command = message.readInt32LE(12) === MESSAGE ? commandIn(message) : undefined
      if (!command || 'hello' in command) return void far.write(message)
      const [name, on] = Object.entries(command)[0]!
      commands.push({ name, on: String(on) })
      if (swallows(command)) swallowed.add(message.readInt32LE(4))
      waiting++
      const carryOut = () =>
        new Promise<void>((answered) => {
          under.set(message.readInt32LE(4), answered)
          far.write(message)
          if (far.destroyed) answered()
        })
      const done = commandMs === 0 ? carryOut() : (turn = turn.then(() => clock.sleep(commandMs)).then(carryOut))
      void done.finally(() => waiting--)
    })
    const back = messagesOf((message) => {
      const of = message.readInt32LE(8)
      under.get(of)?.()
      under.delete(of)
      if (!swallowed.delete(of)) near.write(message)
    })
    for (const [from, to, take] of [
      [near, far, forward],
      [far, near, back],
    ] as const) {
      sockets.add(from)
      from.setNoDelay(true)
      from.on('data', take)
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
        for (const answered of under.values()) answered()
      })
    }
  }
  const server = createServer(carry)
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.teardown(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return {
    url: url.replace(target.host, `127.0.0.1:${(server.address() as AddressInfo).port}`),
    /** The commands since the last call. */
    taken: (): readonly Command[] => commands.splice(0),
    /** True while no command waits for its answer. */
    rests: (): boolean => waiting === 0,
  }
}

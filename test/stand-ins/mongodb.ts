import { type AddressInfo, createServer, type Socket } from 'node:net'
import { BSON, type Document } from 'mongodb'

/** Code of messages that carry commands and answers. */
export const MESSAGE = 2013
const HEADER = 16
const HELLO = { ok: 1, isWritablePrimary: true, helloOk: true, minWireVersion: 0, maxWireVersion: 21 } as const
const LIMITS = { maxBsonObjectSize: 16_777_216, maxMessageSizeBytes: 48_000_000, maxWriteBatchSize: 100_000 } as const

/** Parses a document sequence section; returns its documents and end. */
const sequenceAt = (message: Buffer, at: number) => {
  const end = at + message.readInt32LE(at)
  const nameEnd = message.indexOf(0, at + 4)
  const documents: Document[] = []
  for (let next = nameEnd + 1; next < end; next += message.readInt32LE(next))
    documents.push(BSON.deserialize(message.subarray(next, next + message.readInt32LE(next))))
  return { name: message.toString('utf8', at + 4, nameEnd), documents, end }
}

/** Parses the command of an OP_MSG message, with its document sequences as fields. */
export const commandIn = (message: Buffer): Document => {
  let command: Document = {}
  for (let at = HEADER + 4; at < message.length; ) {
    const [kind, start] = [message[at], at + 1]
    if (kind === 1) {
      const { name, documents, end } = sequenceAt(message, start)
      command = { ...command, [name]: documents }
      at = end
    } else {
      at = start + message.readInt32LE(start)
      command = { ...BSON.deserialize(message.subarray(start, at)), ...command }
    }
  }
  return command
}

const messageOf = (reply: Document, to: number): Buffer => {
  const body = BSON.serialize(reply)
  const head = Buffer.alloc(HEADER + 5)
  head.writeInt32LE(head.length + body.length, 0)
  head.writeInt32LE(to, 8)
  head.writeInt32LE(MESSAGE, 12)
  return Buffer.concat([head, body])
}

/** First answer on a connection, which the driver requests with OP_QUERY. */
const firstReply = (to: number): Buffer => {
  const body = BSON.serialize({ ...HELLO, ...LIMITS })
  const head = Buffer.alloc(36)
  head.writeInt32LE(head.length + body.length, 0)
  head.writeInt32LE(to, 8)
  head.writeInt32LE(1, 12)
  head.writeInt32LE(1, 32)
  return Buffer.concat([head, body])
}

/** Splits the bytes of a connection into whole messages. */
export const messagesOf = (take: (message: Buffer) => void) => {
  let rest = Buffer.alloc(0)
  return (bytes: Buffer): void => {
    rest = Buffer.concat([rest, bytes])
    while (rest.length >= HEADER && rest.length >= rest.readInt32LE(0)) {
      const message = rest.subarray(0, rest.readInt32LE(0))
      rest = rest.subarray(message.length)
      take(message)
    }
  }
}

/** Answer of a command that the server leaves unanswered. */
export const SILENCE = 'silence'
type Answer = (command: Document) => Document | typeof SILENCE | undefined
type Pacing = {
  /** Awaited before each answer: a heartbeat of the driver, or any other command. */
  readonly before?: (what: 'heartbeat' | 'command', command: Document) => Promise<unknown> | undefined
  readonly onConnection?: () => void
}

const serve = (socket: Socket, answer: Answer, before: Pacing['before']) => {
  const reply = (message: Buffer) => {
    const id = message.readInt32LE(4)
    if (message.readInt32LE(12) !== MESSAGE) return void socket.write(firstReply(id))
    const command = commandIn(message)
    const isHeartbeat = 'hello' in command
    const answered = isHeartbeat ? { ...HELLO, ...LIMITS } : (answer(command) ?? { ok: 1 })
    const send = () => void (answered !== SILENCE && socket.write(messageOf(answered, id)))
    const waits = before?.(isHeartbeat ? 'heartbeat' : 'command', command)
    if (waits) void waits.then(send)
    else send()
  }
  socket.on('error', () => socket.destroy())
  socket.on('data', messagesOf(reply))
}

/**
 * Starts a server that speaks MongoDB's protocol and answers each command by a callback, for errors that no real server
 * returns on demand. The default answer is `{ok: 1}`.
 */
export const scriptedMongo = async (
  t: { readonly teardown: (done: () => unknown) => void },
  answer: Answer,
  { before, onConnection }: Pacing = {},
): Promise<string> => {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    onConnection?.()
    socket.on('close', () => sockets.delete(socket))
    serve(socket, answer, before)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `mongodb://127.0.0.1:${(server.address() as AddressInfo).port}`
}

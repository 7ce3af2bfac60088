import { channel } from 'node:diagnostics_channel'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Duplex } from 'node:stream'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const HEAD_END = Buffer.from('\r\n\r\n')
const CONNECTIONS = 8

/** Whether this is a whole answer with 200; throws where it begins as another. */
const isWhole = (answer: Buffer): boolean => {
  const end = answer.indexOf(HEAD_END)
  if (end < 0) return false
  const head = answer.toString('latin1', 0, end)
  if (!head.startsWith('HTTP/1.1 200')) throw new Error(`not answered with 200: ${answer.toString()}`)
  const [, length] = /\r\ncontent-length: (\d+)/i.exec(head) ?? []
  return answer.length >= end + HEAD_END.length + Number(length)
}

/** A connection that is memory only: the server reads what `next` gives, one request after the other, and what it writes goes nowhere. */
const connection = (server: Server, next: () => Buffer | undefined) =>
  new Promise<void>((resolve, reject) => {
    let held: Buffer | undefined
    const take = (chunk: Buffer, done: (error?: Error) => void) => {
      const answer = held ? Buffer.concat([held, chunk]) : chunk
      try {
        held = isWhole(answer) ? undefined : answer
      } catch (error) {
        return done(error as Error)
      }
      if (held === undefined) setImmediate(() => socket.push(next() ?? null))
      return done()
    }
    const socket = new Duplex({
      read: () => undefined,
      write: (chunk: Buffer, _, done) => take(chunk, done),
      writev: (chunks, done) => take(Buffer.concat(chunks.map(({ chunk }) => chunk as Buffer)), done),
    })
    socket.once('error', reject).once('close', resolve)
    server.emit('connection', socket)
    socket.push(next() ?? null)
  })

/**
 * What a server's process is asked: the seconds of CPU that it has had, its memory in bytes after a garbage collection, or
 * the seconds of CPU of each of so many requests to the server of a port, on connections in memory.
 */
export type Measure =
  | 'cpu'
  | 'memory'
  | { readonly requests: readonly string[]; readonly times: number; readonly port: number }

/** The servers of this process that answered a request before the first measure, by their ports. */
const answering = new Map<number, Server>()
const requests = channel('http.server.request.start')
const onRequest = (message: unknown) => {
  const { server } = message as { readonly server: Server }
  answering.set((server.address() as AddressInfo).port, server)
}
requests.subscribe(onRequest)

const inSeconds = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1e6

/** Seconds of CPU that this process spends on each of so many requests, these in turn. It must have answered one before, over the network. */
const fed = async (asked: readonly string[], times: number, port: number): Promise<number> => {
  const server = answering.get(port)
  if (!server) throw new Error('no server of this process answered a request yet')
  const raw = asked.map((request) => Buffer.from(request))
  let sent = 0
  const next = () => (sent < times ? raw[sent++ % raw.length] : undefined)
  const before = process.cpuUsage()
  await Promise.all(Array.from({ length: CONNECTIONS }, () => connection(server, next)))
  return inSeconds(process.cpuUsage(before)) / times
}

/** Bytes of resident memory after a garbage collection. */
const residentBytes = (): number => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  for (let n = 0; n < 3; n++) collect()
  return process.memoryUsage().rss
}

const measured = (measure: Measure): number | Promise<number> => {
  requests.unsubscribe(onRequest)
  if (measure === 'cpu') return inSeconds(process.cpuUsage())
  return measure === 'memory' ? residentBytes() : fed(measure.requests, measure.times, measure.port)
}

/** Answers each measure that the process is asked with a number, or in words why there is none. */
export const answerMeasures = (): void => {
  process.on('message', (measure: Measure) => {
    void (async () => measured(measure))().then(
      (seconds) => process.send!(seconds),
      (error: unknown) => process.send!(String(error)),
    )
  })
}

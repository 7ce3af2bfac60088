import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { startService } from '../start.ts'
import { eventually } from '../wait.ts'
import { listening } from './event-source.ts'

const EVENTS = '/ofrep/v1/events?namespace=default'
const SNAPSHOTS = '/client/v2/environments/default/namespaces/default/stream'
const requestOf = (path: string, token: string) =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`
/** Streams of one credential and of one address; a stream that is not given back would be missed. */
const LIMIT = 20

await t.test('streams that are reset at any byte, or 1,000 times, are closed and given back', async (t) => {
  const limits = { 'server.streams.per_credential': String(LIMIT), 'server.streams.per_address': String(LIMIT) }
  const service = await startService(t, limits)
  const { port } = new URL(service.url)
  const opened = async (): Promise<Socket> => {
    const socket = connect(Number(port), '127.0.0.1')
    socket.on('error', () => undefined)
    await once(socket, 'connect')
    return socket
  }
  const closed = async (socket: Socket) => {
    const over = once(socket, 'close')
    socket.resetAndDestroy()
    await over
  }
  const status = async (path: string) => {
    const headers = { authorization: `Bearer ${service.token}` }
    const { status, end } = await listening(t, service, path, headers)
    return { status, end }
  }
  /** Waits until as many streams as the limit can be open at once. */
  const isGivenBack = async () => {
    await eventually(async () => {
      const all = await Promise.all(Array.from({ length: LIMIT }, () => status(EVENTS)))
      for (const { end } of all) end()
      return all.every(({ status }) => status === 200)
    }, 'a limit that no closed stream counts against')
  }

  for (const path of [EVENTS, SNAPSHOTS]) {
    const bytes = requestOf(path, service.token)
    for (let sent = 0; sent <= bytes.length; sent++) {
      const socket = await opened()
      socket.write(bytes.slice(0, sent))
      await closed(socket)
    }
    for (let wanted = 1; wanted < 900; wanted += 60) {
      const socket = await opened()
      socket.write(bytes)
      await once(socket, 'readable')
      socket.read(Math.min(wanted, socket.readableLength))
      await closed(socket)
    }
  }
  await isGivenBack()

  const seen = new Set<number>()
  for (let n = 0; n < 1_000; n += 2 * LIMIT) {
    const all = await Promise.all(Array.from({ length: 2 * LIMIT }, () => status(n % 100 < 50 ? EVENTS : SNAPSHOTS)))
    for (const { status, end } of all) {
      seen.add(status)
      end()
    }
    const answer = await service.request('POST', '/ofrep/v1/evaluate/flags', { context: { targetingKey: 'e' } })
    t.equal(answer.status, 200, 'others are answered')
  }
  t.strictSame(seen, new Set([200, 429]), 'opened, or beyond the limit')
  await isGivenBack()
  t.notMatch(await service.logged(), /"level":"(ERROR|FATAL)"/)
})

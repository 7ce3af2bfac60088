import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import { generate } from 'selfsigned'
import t from 'tap'
import { connectionTables, cutStalled } from '../../src/http/memory/stalled.ts'
import { flagStreams } from '../../src/http/streams/flag-streams.ts'
import { drain } from '../../src/http/wire/connections.ts'
import { bind, openPort } from '../../src/http/wire/port.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'

const LOOK_MS = 15_000
const MIB = 1_048_576
const ANSWER = 48 * MIB
const PART = 4 * MIB

/** Bytes of a connection that the system has not accepted yet. */
const queuedOf = (socket: Socket): number => {
  const handle: unknown = Reflect.get(socket, '_handle')
  const within = (of: unknown, name: string): unknown =>
    typeof of === 'object' && of !== null ? Reflect.get(of, name) : undefined
  return Number(within(within(handle, '_parent') ?? handle, 'writeQueueSize') ?? 0)
}

await t.test(
  'a port that is left closes idle connections after a second, and unanswered ones at the end',
  async (t) => {
    const clock = virtualClock()
    const opened = openPort({ headersTimeout: 5_000, requestTimeout: 10_000, keepAliveTimeout: 72_000 }, clock)
    const asked = new Set<string>()
    opened.server.on('request', ({ url = '' }) => asked.add(url))
    await bind(opened, { host: '127.0.0.1', port: 0, choose: { host: '', port: '' } })
    const { port } = opened.server.address() as AddressInfo
    const clients = [connect({ host: '127.0.0.1', port }), connect({ host: '127.0.0.1', port })]
    for (const client of clients) client.on('error', () => undefined)
    clients[1]!.write('GET /waits HTTP/1.1\r\nHost: x\r\n\r\n')
    await eventually(() => opened.sockets.size === 2 && asked.size === 1, 'a request and an idle connection')
    const sockets = [...opened.sockets]
    const left = drain(opened, clock, 4_000)
    await clock.advance(3_999)
    t.notOk(sockets.some(({ destroyed }) => destroyed))
    await clock.advance(1)
    t.ok(sockets.every(({ destroyed }) => destroyed))
    t.equal(await left, 1, 'one request without a response')

    const idle = openPort({ headersTimeout: 5_000, requestTimeout: 10_000, keepAliveTimeout: 72_000 }, clock)
    await bind(idle, { host: '127.0.0.1', port: 0, choose: { host: '', port: '' } })
    clients.push(connect((idle.server.address() as AddressInfo).port, '127.0.0.1'))
    await eventually(() => idle.sockets.size === 1, 'an idle connection')
    const [socket] = idle.sockets
    const none = drain(idle, clock, 4_000)
    await clock.advance(999)
    t.notOk(socket!.destroyed)
    await clock.advance(1)
    t.ok(socket!.destroyed)
    t.equal(await none, 0)
    for (const client of clients) client.destroy()
  },
)

await t.test('a connection is cut whose client does not acknowledge what was sent', async (t) => {
  const clock = virtualClock()
  const server = createServer()
  const tables: string[] = []
  const peer = (remoteAddress: string, remotePort: number) =>
    Object.assign(new Duplex({ read: () => undefined }), {
      remoteAddress,
      remotePort,
      localPort: 8080,
    }) as unknown as Socket
  const [gone, waits, same, six, other] = [
    peer('192.0.2.1', 5_000),
    peer('192.0.2.1', 5_001),
    peer('192.0.2.2', 5_000),
    peer('2001:db8::5', 5_000),
    peer('::ffff:192.0.2.9', 5_000),
  ]
  const sockets = new Set([gone, waits, same, six, other])
  cutStalled({ server, sockets }, clock, undefined, async () => tables.splice(0).join(''))
  const cut = () => [...sockets].map(({ destroyed }) => destroyed)
  tables.push(
    '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n',
    '   0: 0100007F:1F90 010200C0:1388 01 00000800:00000000 01:00000200 00000007  1000        0 7\n',
    '   1: 0100007F:1F90 010200C0:1389 01 00000000:00000000 02:00000A2F 0000000A  1000        0 8\n',
  )
  await clock.advance(15_000)
  t.strictSame(cut(), [false, false, false, false, false], 'seven repetitions, or an idle connection')
  tables.push(
    '   0: 0100007F:1F90 010200C0:1388 01 00000800:00000000 01:00000200 00000008  1000        0 7\n',
    '   1: 0100007F:1F91 020200C0:1388 01 00000800:00000000 01:00000200 00000009  1000        0 9\n',
    '   0: 000080FE00000000000000FF010000FE:1F90 B80D0120000000000000000005000000:1388 01 00000800:00000000 01:00000200 0000000C 1 0 1\n',
    '   1: 0000000000000000FFFF00000100007F:1F90 0000000000000000FFFF0000090200C0:1388 01 00000800:00000000 01:00000200 0000000F 1 0 2\n',
  )
  await clock.advance(15_000)
  t.strictSame(cut(), [true, false, false, true, true], 'another local port is another connection')
})

await t.test('the system states the connections of a port in the form that the service reads', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const client = connect(port, '127.0.0.1')
  const [socket] = (await once(server, 'connection')) as [Socket]
  t.teardown(() => {
    client.destroy()
    socket.destroy()
    server.close()
  })
  const hex = (of: number) => of.toString(16).toUpperCase().padStart(4, '0')
  const form = `: 0100007F:${hex(port)} 0100007F:${hex(client.localPort!)} 01 \\w{8}:\\w{8} \\w\\w:\\w{8} \\w{8} `
  t.match(await connectionTables(), new RegExp(form))
  t.match(
    [client, socket].map(({ destroyed }) => destroyed),
    [false, false],
  )
})

for (const protocol of ['http', 'https'] as const) {
  await t.test(protocol, async (t) => {
    const pair = await generate([{ name: 'commonName', value: 'localhost' }])
    const tls = { key: pair.private, cert: pair.cert }
    const clock = virtualClock()
    const settings = {
      headersTimeout: 5000,
      requestTimeout: 10_000,
      keepAliveTimeout: 72_000,
      ...(protocol === 'https' && { tls }),
    }
    const opened = openPort(settings, clock)
    const { server, sockets } = opened
    const large = 'x'.repeat(ANSWER)
    server.on('request', ({ url }, response) => {
      if (url !== '/stream') return response.end(url === '/large' ? large : 'small')
      const audience = { key: 'all', isAllowed: () => true }
      const place = snapshots.enter({ actor: { kind: 'token', id: 'engine' }, via: 'bearer' }, '', 'engine')
      return snapshots.open(response, place, content, audience, false)
    })
    const snapshots = flagStreams({
      clock,
      limits: { most: 4, perCredential: 4, perAddress: 4 },
      fresh: () => true,
      onError: (error) => assert.fail(String(error)),
    })
    const piece = Buffer.from(large.slice(0, PART))
    const content = {
      key: 'large',
      namespace: 'a',
      kind: 'snapshots',
      frame: async () => ({ name: '1', chunks: Array.from({ length: ANSWER / PART }, () => piece) }),
    } as const
    await bind(opened, { host: '127.0.0.1', port: 0, choose: { host: '', port: '' } })
    t.teardown(() => {
      server.closeAllConnections()
      server.close()
    })
    const { port } = server.address() as AddressInfo

    const open = async (): Promise<Socket> => {
      const socket =
        protocol === 'https'
          ? connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false })
          : connect({ host: '127.0.0.1', port })
      socket.on('error', () => undefined)
      await new Promise((ready) => socket.once(protocol === 'https' ? 'secureConnect' : 'connect', ready))
      t.teardown(() => socket.destroy())
      return socket
    }
    const ask = (socket: Socket, path: string) => socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
    /** Waits until the system buffers are full: their size stays equal for many checks. */
    const full = async () => {
      let [before, still] = ['', 0]
      await eventually(() => {
        const now = JSON.stringify([...sockets].map(queuedOf))
        still = now === before ? still + 1 : 0
        before = now
        return still === 20
      }, 'a system that takes no more')
    }

    await t.test('a client that reads nothing is cut off, but an idle one is not', async (t) => {
      const quiet = await open()
      ask(quiet, '/small')
      await new Promise((taken) => quiet.once('data', taken))
      const idle = [...sockets]
      for (let n = 0; n < 4; n++) {
        const stuck = await open()
        stuck.pause()
        ask(stuck, '/large')
      }
      const stuck = () => [...sockets].filter((socket) => !idle.includes(socket))
      await eventually(() => stuck().length === 4, 'four more connections')
      await eventually(() => stuck().every((socket) => queuedOf(socket) > 0), 'unread answers')
      await full()
      await clock.advance(LOOK_MS)
      await clock.advance(59_999)
      const those = stuck()
      t.notOk(
        those.some(({ destroyed }) => destroyed),
        'they may take nothing for a minute after the first look',
      )
      await clock.advance(1)
      t.ok(
        those.every(({ destroyed }) => destroyed),
        'and no longer',
      )
      await eventually(() => stuck().length === 0, 'the end of those that took nothing')
      t.same([...sockets], idle)
      let answered = ''
      quiet.on('data', (bytes: Buffer) => (answered += bytes.toString()))
      ask(quiet, '/small')
      t.ok(await eventually(() => answered.endsWith('small'), 'the answer'), 'the quiet one is answered still')
      quiet.destroy()
      await eventually(() => sockets.size === 0, 'the end of the quiet one')
    })

    await t.test('a stream is cut off whose client reads nothing of a snapshot', async (t) => {
      const stuck = await open()
      stuck.pause()
      ask(stuck, '/stream')
      await eventually(() => [...sockets].some((socket) => queuedOf(socket) > 0), 'an unread snapshot')
      await full()
      const [socket] = sockets
      t.ok(socket!.writableLength <= PART + 65_536, 'one chunk waits')
      await clock.advance(LOOK_MS)
      await clock.advance(59_999)
      t.notOk(socket!.destroyed)
      await clock.advance(1)
      t.ok(socket!.destroyed)
      await eventually(() => snapshots.counts.snapshots.open === 0, 'the end of the stream')
    })

    await t.test('a client that reads slowly gets the whole answer', async (t) => {
      const began = clock.monotonic()
      const slow = await open()
      slow.pause()
      ask(slow, '/large')
      let [got, wanted] = [0, 0]
      slow.on('data', (bytes: Buffer) => {
        got += bytes.length
        if (got >= wanted) slow.pause()
      })
      await eventually(() => sockets.size === 1, 'the connection')
      const parts = ANSWER / PART
      for (let part = 1; part <= parts; part++) {
        await full()
        // One check after progress, and as many as a stalled reader may have.
        await clock.advance(4 * LOOK_MS)
        wanted = part * PART
        slow.resume()
        await eventually(() => got >= wanted || slow.destroyed, `part ${part}`)
      }
      t.ok(got >= ANSWER, `${got} bytes`)
      t.equal(clock.monotonic() - began, parts * 4 * LOOK_MS, 'a minute for each part of it')
    })
  })
}

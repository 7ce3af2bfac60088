import { type AddressInfo, connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { generate } from 'selfsigned'
import t from 'tap'
import { largeHeaderSpells } from '../../src/app/telemetry/limited-lines.ts'
import { systemClock } from '../../src/base/clock.ts'
import { bind, openPort } from '../../src/http/wire/port.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { demo, exchange, problemOf, settings } from './demo.ts'
import { A, get } from './requests.ts'

const MIB = 1_048_576
const tags = (bytes: number): string => `If-None-Match: ${'"1f",'.repeat(Math.floor(bytes / 5))}"8"\r\n`

await t.test('If-None-Match may have a megabyte, the other headers together 64 KiB', async (t) => {
  const clients: string[] = []
  const { app, port } = await demo({ onLargeHeaders: (client) => void clients.push(client) })
  t.teardown(() => app.close())
  const ask = (headers: string) => exchange(port, get('/api/v1/namespaces/a', `${A}${headers}`))
  for (const bytes of [60_000, 70_000, 1_000_000]) t.equal((await ask(tags(bytes))).status, 200, String(bytes))
  t.strictSame(clients, [])
  for (const headers of [
    tags(1_050_000),
    `X: ${'y'.repeat(66_000)}\r\n`,
    `${tags(80_000)}X: ${'y'.repeat(66_000)}\r\n`,
  ]) {
    const reply = await ask(headers)
    t.equal(reply.status, 431)
    t.equal(problemOf(reply).reason, 'headers_too_large')
  }
  t.equal((await exchange(port, get(`/api/v1/namespaces/a?${'a'.repeat(66_000)}`, A))).status, 431, 'the target too')
  t.strictSame(clients, ['127.0.0.1', '127.0.0.1', '127.0.0.1', '127.0.0.1'])
})

for (const protocol of ['http', 'https'] as const)
  await t.test(`large headers of all connections together have at most 16 MiB: ${protocol}`, async (t) => {
    const pair = await generate([{ name: 'commonName', value: 'localhost' }])
    const tls = { key: pair.private, cert: pair.cert }
    const port = openPort({ ...settings, ...(protocol === 'https' && { tls }) }, systemClock)
    const refused: unknown[] = []
    const answers: (() => void)[] = []
    port.server.on('clientError', (error, socket: Socket) => {
      refused.push(Reflect.get(error, 'code'))
      socket.destroy()
    })
    port.handle((_, response) => void answers.push(() => response.end('ok')))
    await bind(port, { host: '127.0.0.1', port: 0, choose: { host: '', port: '' } })
    t.teardown(() => {
      port.server.closeAllConnections()
      port.server.close()
    })
    const at = { host: '127.0.0.1', port: (port.server.address() as AddressInfo).port, rejectUnauthorized: false }
    const open = (): Socket => (protocol === 'https' ? connectTls(at) : connect(at)).on('error', () => undefined)
    const begun = `GET / HTTP/1.1\r\nHost: x\r\nIf-None-Match: ${'x'.repeat(MIB - 100_000)}`

    const unfinished: Socket[] = []
    while (refused.length === 0) {
      unfinished.push(open())
      unfinished.at(-1)!.write(begun)
      const all = () => refused.length > 0 || port.largeHeaders() >= unfinished.length * (MIB - 100_000)
      await eventually(all, 'the headers of one more connection')
    }
    t.strictSame(refused, ['HEADERS_BUSY'])
    t.ok(unfinished.length > 16 && unfinished.length < 20, `${unfinished.length} connections`)
    t.ok(port.largeHeaders() <= 16 * MIB)

    for (const socket of unfinished.slice(1)) socket.destroy()
    await eventually(() => port.largeHeaders() < MIB, 'the end of the others')
    unfinished[0]!.write('\r\n\r\n')
    await eventually(() => answers.length === 1, 'the request')
    t.ok(port.largeHeaders() > 0, 'they count until the answer')
    answers[0]!()
    await eventually(() => port.largeHeaders() === 0, 'the answer')

    const body = 'y'.repeat(2 * MIB)
    unfinished[0]!.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    await eventually(() => answers.length === 2, 'the next request of the connection')
    t.equal(port.largeHeaders(), 0, 'a body does not count')
  })

/** True while the parser of a connection reads from the system. A `data` or `readable` listener on its socket ends this. */
const isDirect = (socket: Socket | undefined): boolean =>
  Reflect.get(Object(Reflect.get(Object(socket), 'parser')), '_consumed') === true

for (const kind of ['plain', 'TLS', 'proxied'] as const)
  await t.test(`nothing listens to the reads of a ${kind} connection without large headers`, async (t) => {
    const pair = await generate([{ name: 'commonName', value: 'localhost' }])
    const tls = { key: pair.private, cert: pair.cert }
    const clock = virtualClock()
    const { app, port } = await demo({
      config: { ...settings, trustProxy: kind === 'proxied', ...(kind === 'TLS' && { tls }) },
      clock,
    })
    const accepted: Socket[] = []
    app.server.on(kind === 'TLS' ? 'secureConnection' : 'connection', (socket: Socket) => accepted.push(socket))
    const seen: unknown[] = []
    app.server.on('request', ({ socket }) => seen.push([isDirect(socket), socket.listenerCount('readable')]))
    const at = { host: '127.0.0.1', port, rejectUnauthorized: false }
    const client = (kind === 'TLS' ? connectTls(at) : connect(at)).on('error', () => undefined)
    t.teardown(async () => {
      client.destroy()
      const closed = app.close()
      await clock.advance(60_000)
      await closed
    })
    let answers = 0
    client.on('data', (bytes: Buffer) => (answers += bytes.toString().split('HTTP/1.1 200').length - 1))
    const forwarded = kind === 'proxied' ? 'X-Forwarded-For: 192.0.2.1\r\n' : ''
    const begin = (line: string, more = '') => `${line} HTTP/1.1\r\n${A}${forwarded}${more}`
    const sent = async (text: string) => {
      const before = answers
      client.write(text)
      await eventually(() => answers > before, 'the answer')
      await clock.advance(1_000)
    }
    const post = begin('POST /evaluate/v1/boolean', 'Content-Type: application/json\r\n')
    const body = JSON.stringify({ namespaceKey: 'a', flagKey: 'f', context: { text: 'x'.repeat(60_000) } })
    await sent(`${begin('GET /livez')}\r\n`)
    await sent(`${post}Content-Length: ${body.length}\r\n\r\n${body}`)
    await sent(`${post}Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`)
    await sent(`${begin('GET /livez')}\r\n`)
    t.strictSame(
      seen,
      Array.from({ length: 4 }, () => [true, 0]),
    )

    client.write(begin('GET /livez', `If-None-Match: ${'x'.repeat(100_000)}`))
    await eventually(() => accepted[0]!.bytesRead > 220_000, 'the large headers')
    t.ok(isDirect(accepted[0]), 'large headers are seen at the next look')
    await clock.advance(200)
    t.notOk(isDirect(accepted[0]))
    await sent('\r\n\r\n')
  })

await t.test('headers that have not arrived have at most 16 MiB together, and the largest are refused', async (t) => {
  const clock = virtualClock()
  const port = openPort(settings, clock)
  const refused = new Set<Socket>()
  port.server.on('clientError', (error, socket: Socket) => {
    if (Reflect.get(error, 'code') === 'HEADERS_BUSY') refused.add(socket)
    socket.destroy()
  })
  let requests = 0
  port.handle((request, response) => {
    requests++
    request.resume().once('end', () => response.end('ok'))
  })
  await bind(port, { host: '127.0.0.1', port: 0, choose: { host: '', port: '' } })
  const clients: Socket[] = []
  t.teardown(() => {
    for (const client of clients) client.destroy()
    port.server.close()
  })
  const host = { host: '127.0.0.1', port: (port.server.address() as AddressInfo).port }
  const send = (text: string): void => {
    const client = connect(host).on('error', () => undefined)
    clients.push(client)
    client.write(text)
  }
  const whole = 'GET / HTTP/1.1\r\nHost: x\r\n'
  const large = `${whole}X: ${'y'.repeat(60_000)}`
  const post = `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n${'b'.repeat(5_000)}`
  const [half, short] = [160, 3_000]
  for (let n = 0; n < half; n++) send(large)
  // The next request of a connection arrives in one read with the end of another one.
  for (let n = 0; n < half; n++) send(post + large.slice(0, 50_000))
  send(`${whole}X: ${'y'.repeat(short)}`)
  const bytes = half * large.length + half * (post.length + 50_000) + short
  const read = () => [...port.sockets].reduce((sum, { bytesRead }) => sum + bytesRead, 0)
  await eventually(() => requests === half && read() >= bytes, 'all bytes')
  t.equal(refused.size, 0)
  await clock.advance(200)
  const left = half * large.length + half * 50_000 - refused.size * large.length
  t.ok(left <= 16 * MIB && left > 16 * MIB - large.length, `${left} bytes stay`)
  await clock.advance(200)
  await eventually(() => port.sockets.size === clients.length - refused.size, 'the end of the refused connections')
  clients.at(-1)!.write('\r\n\r\n')
  await eventually(() => requests === half + 1, 'the request with small headers')
})

await t.test('a spell of refused large headers is logged at its start and at its end', async (t) => {
  const clock = virtualClock()
  const lines: unknown[] = []
  const keep = (level: string) => (record: unknown) => void lines.push([level, record])
  const refused = largeHeaderSpells({ warn: keep('warn'), info: keep('info') } as never, clock)
  refused('192.0.2.1')
  await clock.advance(599_999)
  refused('192.0.2.2')
  await clock.advance(599_999)
  t.strictSame(lines, [['warn', { client: '192.0.2.1' }]])
  await clock.advance(1)
  refused('192.0.2.3')
  t.strictSame(lines.slice(1), [
    ['info', { requests: 2 }],
    ['warn', { client: '192.0.2.3' }],
  ])
})

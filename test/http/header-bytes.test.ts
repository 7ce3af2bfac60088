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

import { connect } from 'node:net'
import t from 'tap'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { bodyAttacks } from './attacks-by-body.ts'
import { pathAttacks } from './attacks-by-head.ts'
import { demo, exchange, problemOf, settings } from './demo.ts'
import { A, flags, get, H, post } from './requests.ts'

const served = await demo()
t.teardown(() => served.app.close())

void t.test('every attack gets an error answer of the usual form', async (t) => {
  for (const [name, bytes, status, sign] of [...pathAttacks, ...bodyAttacks]) {
    const reply = await exchange(served.port, bytes)
    t.equal(reply.status, status, name)
    t.equal(reply.headers.get('x-content-type-options'), 'nosniff', name)
    t.match(reply.headers.get('x-request-id'), /^[\w.-]{1,128}$/, name)
    t.equal(reply.headers.get('content-type'), 'application/json', name)
    if (sign.startsWith('"') || status === 200) t.ok(reply.body.includes(sign), `${name}: ${reply.body}`)
    else if (reply.body !== '') {
      const { reason, fieldViolations } = problemOf(reply)
      const [violation] = (fieldViolations ?? []) as { field: string }[]
      t.equal(violation?.field ?? reason, sign, name)
    }
  }
  t.same(served.log, [], 'nothing was a defect of ours')
})

void t.test('the bytes after a refused body are read as the next request', async (t) => {
  const first = post('/auth/v1/method/token', ' '.repeat(70_000))
  const text = await new Promise<string>((resolve) => {
    const socket = connect(served.port, '127.0.0.1')
    let received = ''
    socket.on('data', (chunk) => (received += chunk.toString('latin1')))
    socket.on('close', () => resolve(received))
    socket.write(Buffer.concat([first, Buffer.from(`GET /livez HTTP/1.1\r\n${H}Connection: close\r\n\r\n`)]))
  })
  t.same(text.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 413', 'HTTP/1.1 200'])
})

void t.test('slow senders get 408 after the configured times', async (t) => {
  const slow = await demo({
    config: { ...settings, headersTimeout: 600, requestTimeout: 1200, keepAliveTimeout: 600_000 },
  })
  t.teardown(() => slow.app.close())
  const replies = await Promise.all([
    exchange(slow.port, `GET /livez HTTP/1.1\r\n${H}`),
    exchange(slow.port, `POST ${flags} HTTP/1.1\r\n${A}Content-Length: 100\r\n\r\n{`),
  ])
  t.same(
    replies.map(({ status }) => status),
    [408, 408],
  )
  const { headersTimeout, requestTimeout, keepAliveTimeout } = slow.app.server
  t.strictSame(
    [headersTimeout, requestTimeout, keepAliveTimeout],
    [600, 1200, 600_000],
    'Node measures it, by the times that are set',
  )
  t.equal((await exchange(slow.port, get('/livez', H))).status, 200)
})

void t.test('a connection that does not speak HTTP gets an answer and is closed after 500 ms', async (t) => {
  const clock = virtualClock()
  const { app, port } = await demo({ clock })
  t.teardown(() => app.close())
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  t.teardown(() => socket.destroy())
  let received = ''
  socket.on('data', (chunk) => (received += String(chunk)))
  socket.write('what is this\r\n\r\n')
  await eventually(() => received.includes('request is not valid HTTP'), 'the answer')
  await clock.advance(499)
  t.equal(app.sockets.size, 1)
  await clock.advance(1)
  t.equal(app.sockets.size, 0)
})

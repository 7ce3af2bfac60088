import { EventEmitter, once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { oneAfterAnother } from '../../src/http/memory/arriving-requests.ts'
import { eventually } from '../wait.ts'

/** Maximum number of waiting requests of a connection, in addition to the running one. */
const WAITING = 256

const listening = async (t: Test, handle: RequestListener) => {
  const server = createServer(oneAfterAnother(handle)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  return async (count: number) => {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    const requests = Array.from({ length: count }, (_, n) => `GET /${n} HTTP/1.1\r\nhost: h\r\n\r\n`)
    socket.write(requests.join(''))
    return socket
  }
}

/** Reads `count` answers or until the connection ends; returns their bodies. */
const bodiesOf = async (socket: Socket, count: number) => {
  let text = ''
  socket.on('error', () => undefined)
  const bodies = () => [...text.matchAll(/\[(\d+)\]/g)].map(([, n]) => Number(n))
  for await (const chunk of socket) {
    text += chunk
    if (bodies().length >= count) break
  }
  socket.destroy()
  return bodies()
}

await t.test('requests sent together on a connection are handled in order, one per event-loop turn', async (t) => {
  let [turn, most, inTurn] = [0, 0, 0]
  const next = () => {
    turn++
    inTurn = 0
  }
  const send = await listening(t, ({ url = '' }, response) => {
    if (inTurn === 0) setImmediate(next)
    most = Math.max(most, ++inTurn)
    response.end(`[${url.slice(1)}]`)
  })
  const count = WAITING + 1
  t.strictSame(
    await bodiesOf(await send(count), count),
    Array.from({ length: count }, (_, n) => n),
  )
  t.equal(most, 1)
  t.ok(turn >= count - 1, `${turn} turns`)
})

await t.test('a connection that sends too many requests at once is closed', async (t) => {
  let handled = 0
  const send = await listening(t, () => void handled++)
  const socket = await send(WAITING + 2)
  socket.on('error', () => undefined).resume()
  await once(socket, 'close')
  t.equal(handled, 1, 'none is handled before its turn')
})

await t.test('a late answer delays only later answers on the same connection', async (t) => {
  const answers: (() => void)[] = []
  const urls: string[] = []
  const send = await listening(t, ({ url = '' }, response) => {
    urls.push(url)
    answers.push(() => response.end(`[${url.slice(1)}]`))
  })
  const [first, second] = [await send(2), await send(1)]
  await eventually(() => urls.length === 2, 'the first request of each connection')
  t.strictSame(urls, ['/0', '/0'])
  const firstBodies = bodiesOf(first, 2)
  answers[0]!()
  await eventually(() => urls.length === 3, 'the request behind it')
  t.equal(urls[2], '/1')
  for (const answer of answers.slice(1)) answer()
  t.strictSame([await firstBodies, await bodiesOf(second, 1)], [[0, 1], [0]])
})

await t.test('no further request of a disconnected client is handled', async (t) => {
  const urls: string[] = []
  const answers: (() => void)[] = []
  const send = await listening(t, ({ url = '', socket }, response) => {
    urls.push(url)
    answers.push(() => response.end())
    socket.once('close', () => answers[0]!())
  })
  const socket = await send(10)
  await eventually(() => urls.length === 1, 'the first request')
  socket.destroy()
  const after = await send(1)
  await eventually(() => answers.length === 2, 'the request of another connection')
  after.destroy()
  t.strictSame(urls, ['/0', '/0'])
})

/** A connection whose first request is never answered, and the function that sends a further one. */
const stalled = (handle: (request: object, response: object) => void) => {
  const socket = Object.assign(new EventEmitter(), { destroyed: false, destroy: () => void (socket.destroyed = true) })
  const waiting: EventEmitter[] = []
  return {
    socket,
    send: (count: number, bytes = 0): void => {
      for (let n = 0; n < count && !socket.destroyed; n++) {
        const response = Object.assign(new EventEmitter(), { socket: null })
        waiting.push(response)
        handle({ socket, url: '/', rawHeaders: ['a', 'x'.repeat(bytes)] }, response)
      }
    },
    /** Ends the answer before a waiting request. */
    next: (): void => void waiting.shift()?.emit('socket'),
    end: (): void => {
      socket.destroy()
      socket.emit('close')
    },
  }
}

await t.test('the waiting requests of all connections have a bound in bytes', (t) => {
  const handled: unknown[] = []
  const handle = oneAfterAnother((request) => void handled.push(request), 200_000) as never
  const [first, second, third, fourth] = [stalled(handle), stalled(handle), stalled(handle), stalled(handle)]
  first.send(5, 30_000)
  t.notOk(first.socket.destroyed)
  second.send(5, 30_000)
  t.ok(second.socket.destroyed, 'a connection that exceeds the bound is closed')
  third.send(1, 60_000)
  third.send(1)
  t.notOk(third.socket.destroyed, 'a connection may always have 64 KiB')
  second.end()
  fourth.send(100, 500)
  t.ok(fourth.socket.destroyed, 'many small requests count with their overhead')
  fourth.end()
  third.end()
  for (let n = 0; n < 5; n++) first.next()
  t.equal(first.socket.listenerCount('close'), 0, 'no listener is left')
  const fifth = stalled(handle)
  fifth.send(6, 30_000)
  t.notOk(fifth.socket.destroyed, 'answered requests and closed connections are not counted')
  t.end()
})

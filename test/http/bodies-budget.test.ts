import { once } from 'node:events'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { byteBudget } from '../../src/http/memory/room.ts'
import type { Step } from '../../src/http/route/pipeline.ts'
import { startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { demo, settings } from './demo.ts'

const KB = 1024
const MB = KB * KB

/** Accepts any token; its text is the holder. */
const authorize: Step = ({ request }) => {
  const id = request.headers.authorization?.slice('Bearer '.length) ?? 'nobody'
  const published = id.startsWith('published')
  request.caller = { actor: { kind: 'token', id, method: 'token' }, published, via: 'bearer' }
}

/** Server with a budget of 1 MiB for bodies. */
const serving = async (t: Test) => {
  const clock = virtualClock()
  const bodies = byteBudget(MB, clock)
  const own = await demo({
    clock,
    config: { ...settings, bodyLimit: 400 * KB, publishedBodyLimit: 100 * KB },
    budgets: { answers: byteBudget(64 * MB, clock), bodies },
    authorize,
  })
  t.teardown(() => own.app.close())
  /** Starts a request and sends part of its body. */
  const begin = (token: string, length: number, sent: number, path = '/api/v1/namespaces/a/flags') => {
    const socket = connect(own.port, '127.0.0.1')
    socket.on('error', () => undefined)
    t.teardown(() => socket.destroy())
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Length: ${length}\r\n\r\n`,
    )
    socket.write(' '.repeat(sent))
    const status = async () => Number(String((await once(socket, 'data'))[0]).slice(9, 12))
    return { socket, status }
  }
  const used = (bytes: number) => eventually(() => bodies.held() === bytes, `${bytes} bytes in use`)
  return { ...own, bodies, begin, used }
}

await t.test('the memory of a request body counts until its answer is sent or its client disconnects', async (t) => {
  const { begin, used, bodies } = await serving(t)
  const first = begin('a', 300 * KB, 100 * KB)
  await used(100 * KB)
  first.socket.write(' '.repeat(50 * KB))
  await used(150 * KB)
  const small = begin('a', 16 * KB, 16 * KB)
  t.equal(await small.status(), 400, 'what is small is not counted')
  first.socket.write(' '.repeat(150 * KB))
  t.equal(await first.status(), 400)
  await used(0)
  const second = begin('a', 300 * KB, 200 * KB)
  await used(200 * KB)
  second.socket.destroy()
  await used(0)
  t.equal(bodies.refused(), 0)
})

await t.test('a request body for which there is no memory is refused at once', async (t) => {
  const { begin, used, bodies } = await serving(t)
  for (const holder of ['a', 'b', 'c', 'd']) begin(holder, 300 * KB, 250 * KB)
  await used(1000 * KB)
  for (const holder of ['a', 'e']) t.equal(await begin(holder, 300 * KB, 299 * KB).status(), 503, holder)
  t.equal(bodies.refused(), 2)
  await used(1000 * KB)
  t.equal(await begin('e', 16 * KB, 16 * KB).status(), 400, 'small ones go on')
})

await t.test('neither one token holder nor all published tokens can use all memory for bodies', async (t) => {
  const { begin, used } = await serving(t)
  for (let n = 0; n < 4; n++) begin('a', 300 * KB, 60 * KB)
  await used(240 * KB)
  t.equal(await begin('a', 300 * KB, 60 * KB).status(), 503)
  begin('published', 90 * KB, 60 * KB)
  await used(300 * KB)
  t.equal(await begin('published', 90 * KB, 60 * KB).status(), 503, 'a quarter of a quarter')
  for (let n = 0; n < 3; n++) begin(`published-${n}`, 90 * KB, 60 * KB)
  await used(480 * KB)
  t.equal(await begin('published-4', 90 * KB, 60 * KB).status(), 503, 'a quarter of all')
  begin('b', 300 * KB, 200 * KB)
  await used(680 * KB)
})

await t.test('bodies of published tokens are limited to a smaller size', async (t) => {
  const { begin } = await serving(t)
  t.equal(await begin('published', 100 * KB, 100 * KB).status(), 400)
  t.equal(await begin('published', 100 * KB + 1, 0).status(), 413)
  t.equal(await begin('a', 100 * KB + 1, 100 * KB + 1).status(), 400)
  const service = await startService(t)
  const made = await service.request<{ clientToken: string }>('POST', '/auth/v1/method/token', {
    name: 'web',
    role: 'client',
  })
  const authorization = { authorization: `Bearer ${made.json.clientToken}` }
  const body = (bytes: number) => '{"flagKey":"f"}'.padEnd(bytes)
  for (const path of ['/evaluate/v1/boolean', '/evaluate/v1/batch', '/ofrep/v1/evaluate/flags']) {
    t.not((await service.request('POST', path, body(256 * KB), authorization)).status, 413, path)
    t.equal((await service.request('POST', path, body(256 * KB + 1), authorization)).status, 413, path)
    t.not((await service.request('POST', path, body(256 * KB + 1))).status, 413, path)
  }
})

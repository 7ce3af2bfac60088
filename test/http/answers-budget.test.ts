import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import { byteBudget } from '../../src/http/memory/room.ts'
import type { Step } from '../../src/http/route/pipeline.ts'
import { route } from '../../src/http/route/route.ts'
import { ordinary } from '../../src/http/route/statements.ts'
import { allOf } from '../../src/http/wire/pieces.ts'
import { type Answer, type Json, ok } from '../../src/http/wire/reply.ts'
import { type Started, startService } from '../start.ts'
import { type VirtualClock, virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { demo } from './demo.ts'
import { maker } from './flags.ts'

const N = '/api/v1/namespaces/default'
const KB = 1024
const MB = KB * KB

/** Accepts any token; its text is the holder. */
const authorize: Step = ({ request }) => {
  const id = request.headers.authorization?.slice('Bearer '.length) ?? 'nobody'
  request.caller = {
    actor: { kind: 'token', id, method: 'token' },
    published: id.startsWith('published'),
    via: 'bearer',
  }
}

const shared = {
  ...ordinary,
  access: { credential: 'required', namespace: 'none', right: 'self.use' },
  tag: '',
  summary: '',
  answer: Type.Any(),
} as const

/**
 * Server with a budget of 1 MiB. Answers on a `stuck` connection are never sent. `texts` counts how often a text of
 * `/batch` was created, `writes` what was written.
 */
const serving = async (t: Test) => {
  const clock = virtualClock()
  const answers = byteBudget(MB, clock)
  const counts = { texts: 0, writes: 0 }
  const own = await demo({
    clock,
    budgets: { answers, bodies: byteBudget(64 * MB, clock) },
    authorize,
    replay: () => undefined,
    routes: [
      (app) => {
        const text = 'x'.repeat(200 * KB)
        const chunks = [Buffer.from('a'.repeat(64 * KB)), Buffer.from('b'.repeat(64 * KB))]
        const get = (url: string, run: () => Answer | Promise<Answer>) =>
          route(app, { ...shared, method: 'GET', url, run })
        get('/text', () => ok({ text }))
        get('/small', () => ok({ text: 'small' }))
        get('/chunks', () => ({ body: undefined, chunks }))
        get('/shared', () => ({ body: undefined, chunks, holds: 'shared' }))
        route(app, {
          ...shared,
          method: 'POST',
          url: '/write',
          writes: 'always',
          run: () => {
            counts.writes++
            return ok({ text })
          },
        })
        route(app, {
          ...shared,
          method: 'GET',
          url: '/batch/:count/:size',
          run: (call) => {
            const { count, size } = call.params
            const make = (n: number) => () => {
              counts.texts++
              return JSON.stringify(`${n}`.padEnd(Number(size), 'é😀')) as Json<string>
            }
            const items = Array.from({ length: Number(count) }, (_, n) => n)
            return allOf(call, items, 64 * MB, make, 'items', () => ({ before: { a: 1 }, after: {} }))
          },
        })
      },
    ],
  })
  t.teardown(() => own.app.close())
  const socket = (): Socket => {
    const opened = connect(own.port, '127.0.0.1')
    opened.on('error', () => undefined)
    t.teardown(() => opened.destroy())
    return opened
  }
  const head = (path: string, token: string, method = 'GET', more = '') =>
    `${method} ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n${more}\r\n`
  /** Sends a request on a connection whose answers are never sent. */
  const stuck = async (path: string, token: string, method = 'GET', more = '') => {
    const taken = once(own.app.server, 'connection')
    const opened = socket()
    const [server] = (await taken) as [Socket]
    // Writes never complete, as if the client did not read and the system buffers were full.
    t.teardown(() => server.destroy())
    Object.assign(server, { _write: () => undefined, _writev: undefined })
    opened.write(head(path, token, method, more))
    return { destroy: () => void opened.resetAndDestroy() }
  }
  const used = (bytes: number) => eventually(() => answers.held() === bytes, `${bytes} bytes in use`)
  const waiting = (count: number) => eventually(() => answers.waiting() === count, `${count} that wait`)
  const ask = async (path: string, token: string, method = 'GET') => {
    const answer = await fetch(own.url + path, { method, headers: { authorization: `Bearer ${token}` } })
    const body = await answer.text()
    return { status: answer.status, body, again: answer.headers.get('retry-after') }
  }
  return { ...own, clock, answers, counts, stuck, used, waiting, ask, socket, head }
}

const TEXT = 200 * KB + '{"text":""}'.length
const busy = (body: string) => {
  const { code, message, details } = JSON.parse(body) as {
    readonly code: number
    readonly message: string
    readonly details: readonly [{ readonly value: { readonly reason: string } }]
  }
  return [code, message, details[0].value.reason]
}
const BUSY = [14, 'service is busy', 'busy']

await t.test('the memory of an answer counts until the answer is sent or its client leaves', async (t) => {
  const { stuck, used, ask } = await serving(t)
  const first = await stuck('/text', 'a')
  await used(TEXT)
  t.equal((await ask('/small', 'a')).status, 200, 'what is small is not counted')
  t.equal((await ask('/text', 'b')).status, 200)
  await used(TEXT)
  first.destroy()
  await used(0)
})

await t.test('an answer for which there is no memory waits for its turn and is then created again', async (t) => {
  const { stuck, used, waiting, ask } = await serving(t)
  const first = await stuck('/text', 'a')
  await used(TEXT)
  const second = ask('/text', 'a')
  await waiting(1)
  t.equal((await ask('/text', 'b')).status, 200, 'others have room')
  first.destroy()
  const { status, body } = await second
  t.strictSame([status, body.length], [200, TEXT])
  await used(0)
})

await t.test('a request that waits five seconds for memory is refused', async (t) => {
  const { stuck, used, waiting, ask, clock, answers } = await serving(t)
  await stuck('/text', 'a')
  await used(TEXT)
  const second = ask('/text', 'a')
  await waiting(1)
  await clock.advance(4_999)
  t.equal(answers.waiting(), 1)
  await clock.advance(1)
  const { status, body, again } = await second
  t.strictSame([status, again, busy(body)], [503, '1', BUSY])
  t.equal(answers.refused(), 1)
})

await t.test('buffers of chunks and gzip count as memory of an answer, and shared memory does not', async (t) => {
  const { stuck, used } = await serving(t)
  await stuck('/shared', 'a')
  await stuck('/chunks', 'a')
  await used(128 * KB)
  await stuck('/chunks', 'b', 'GET', 'Accept-Encoding: gzip\r\n')
  await used((128 + 384) * KB)
})

await t.test('the answer to a write is sent even if no memory is left for it', async (t) => {
  const { stuck, used, ask, counts } = await serving(t)
  await stuck('/text', 'a')
  await used(TEXT)
  t.equal((await ask('/write', 'a', 'POST')).status, 200)
  await stuck('/write', 'a', 'POST')
  await used(2 * TEXT)
  t.equal(counts.writes, 2)
})

await t.test('holders of published tokens share a smaller part of the memory for answers', async (t) => {
  const { stuck, used, waiting, ask, clock } = await serving(t)
  await stuck('/text', 'published')
  await used(TEXT)
  const late = [ask('/text', 'published'), ask('/text', 'published-2')]
  await waiting(2)
  t.equal((await ask('/text', 'a')).status, 200)
  await clock.advance(5_000)
  t.strictSame(
    (await Promise.all(late)).map(({ status }) => status),
    [503, 503],
  )
})

await t.test('a large answer is created while the client reads it', async (t) => {
  const { counts, ask, stuck, used, answers } = await serving(t)
  const count = 300
  const small = JSON.parse((await ask('/batch/3/10', 'a')).body) as { readonly items: readonly string[] }
  t.strictSame([small.items.length, counts.texts], [3, 3], 'of a small one once')

  counts.texts = 0
  const { status, body } = await ask(`/batch/${count}/5000`, 'a')
  const { items } = JSON.parse(body) as { readonly items: readonly string[] }
  t.equal(status, 200)
  t.strictSame(
    items,
    Array.from({ length: count }, (_, n) => `${n}`.padEnd(5000, 'é😀')),
  )
  t.equal(counts.texts, 2 * count, 'of a large one twice: to weigh it, and to send it')
  await used(0)

  counts.texts = 0
  const unread = await stuck(`/batch/${count}/5000`, 'a')
  await eventually(() => answers.held() > 128 * KB && counts.texts > count, 'an answer under way')
  t.ok(answers.held() < 400 * KB, `${answers.held()} bytes for an answer of ${body.length}`)
  t.ok(counts.texts < count + 60, `${counts.texts} texts were made`)
  unread.destroy()
  await used(0)
})

await t.test('no more large answers are started than there is memory for', async (t) => {
  const { counts, stuck, waiting, answers } = await serving(t)
  const count = 300
  for (let n = 0; n < 12; n++) await stuck(`/batch/${count}/5000`, 'published')
  await waiting(11)
  t.ok(answers.held() <= MB / 4)
  t.ok(counts.texts < count + 60, `${counts.texts}: who waits has made nothing`)
})

/**
 * Starts a service whose flag `big` and segment `big` have several MiB each, more than the system buffers of an unread
 * answer.
 */
const heavy = async (t: Test, clock: VirtualClock) => {
  const service = await startService(
    t,
    { 'budgets.answers': String(20 * MB), 'server.published_max_response_bytes': String(32 * MB) },
    { clock },
  )
  const make = maker(service)
  await make.segment('all')
  await make.variantFlag('big')
  const attachment = JSON.stringify('x'.repeat(990_000))
  const ids: string[] = []
  for (let n = 0; n < 6; n++) ids.push(await make.variant('big', `v${n}`, attachment))
  await make.rule('big', { segmentKey: 'all' }, { [ids[0]!]: 100 })
  await make.segment('big')
  // EventStoreDB events above 64 KiB are compressed, and a change must fit into 1 MiB.
  const constraint = { type: 'STRING_COMPARISON_TYPE', property: 'p', operator: 'eq', value: 'x'.repeat(65_500) }
  const changes = Array.from({ length: 48 }, () => ({ op: 'constraint.create', ...constraint }))
  for (let n = 0; n < 2; n++) {
    const { status, text } = await service.request('POST', `${N}/segments/big/changes`, { changes })
    if (status !== 200) throw new Error(`changes of the segment: ${text}`)
  }
  return service
}

/** Sends a request and reads only the beginning of its answer. */
const unread = async (t: Test, { url, token }: Started, method: string, path: string, body?: object) => {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  t.teardown(() => socket.destroy())
  const sent = body === undefined ? '' : JSON.stringify(body)
  socket.write(
    `${method} ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Length: ${Buffer.byteLength(sent)}\r\n\r\n${sent}`,
  )
  const [first] = (await once(socket, 'data')) as [Buffer]
  socket.pause()
  return { socket, status: Number(first.toString('latin1', 9, 12)) }
}

const batch = { requests: Array.from({ length: 20 }, () => ({ flagKey: 'big', entityId: 'e' })) }
/** All requests with potentially large answers. */
const large: readonly (readonly [string, string, object?])[] = [
  ['POST', '/evaluate/v1/batch', batch],
  ['POST', '/api/v1/batch-evaluate', batch],
  ['POST', `${N}/batch-evaluate`, batch],
  ['POST', '/evaluate/v1/variant', { flagKey: 'big', entityId: 'e' }],
  ['POST', '/ofrep/v1/evaluate/flags', { context: { targetingKey: 'e' } }],
  ['GET', `${N}/flags`],
  ['GET', `${N}/flags?at=now`],
  ['GET', `${N}/flags?q=b&sort=name`],
  ['GET', `${N}/flags/big`],
  ['GET', `${N}/flags/big?at=now`],
  ['GET', `${N}/flags/big/rules`],
  ['GET', `${N}/flags/big/rollouts`],
  ['GET', `${N}/segments`],
  ['GET', `${N}/segments/big`],
  ['GET', '/api/v1/namespaces'],
  ['GET', '/auth/v1/tokens'],
  ['GET', '/audit/v1/access?right=flag.read'],
  ['GET', '/audit/v1/events'],
  ['GET', '/audit/v1/state/flag/default+big'],
  ['GET', '/audit/v1/diff?stream=flag-default%2Bbig&a=1'],
  ['GET', '/internal/v1/evaluation/snapshot/namespace/default'],
  ['PUT', `${N}/flags/big`, { name: 'changed' }],
  ['PUT', `${N}/segments/big`, { name: 'changed' }],
  ['POST', `${N}/flags/big/changes`, { changes: [{ op: 'flag.update', name: 'changed' }] }],
  ['POST', `${N}/segments/big/changes`, { changes: [{ op: 'segment.update', name: 'changed' }] }],
  ['POST', `${N}/flags/big/variants`, { key: 'more' }],
]
const pathNow = (path: string, clock: VirtualClock) => path.replace('at=now', `at=${clock.now().toISOString()}`)
const gauge = (page: string, name: string) =>
  Number(new RegExp(`^rollcall_budget_${name}\\{budget="answers"\\} (.*)$`, 'm').exec(page)?.[1])

await t.test('memory for every large answer is reserved before it is created, also for writes', async (t) => {
  const clock = virtualClock()
  const service = await heavy(t, clock)
  const other = await service.request<{ clientToken: string }>('POST', '/auth/v1/method/token', { name: 'other' })
  const { socket, status } = await unread(t, service, 'GET', `${N}/flags/big`)
  t.equal(status, 200)
  let answered = 0
  const send = async ([method, path, body]: (typeof large)[number]) => {
    const answer = await service.request(method, pathNow(path, clock), body)
    answered++
    return answer
  }
  // A holder may have more reviews than other readings of the past at once, so these go first.
  const isPast = ([, path]: (typeof large)[number]) => path.includes('at=now')
  const [past, present] = [large.filter(isPast), large.filter((one) => !isPast(one))]
  const first = past.map(send)
  await eventually(
    async () => gauge(await service.metrics(), 'waiting') === past.length,
    'the readings of the past to wait',
  )
  const all = [...past, ...present]
  const asked = Promise.all([...first, ...present.map(send)])
  // Advance time for waiting answers only, because a client that does not read for a minute is cut off.
  await eventually(async () => {
    const waiting = gauge(await service.metrics(), 'waiting')
    if (waiting > 0 && waiting === large.length - answered) await clock.advance(250)
    return answered === large.length
  }, 'an answer to each')
  for (const [n, refused] of (await asked).entries()) {
    const [method, path] = all[n]!
    const what = `${method} ${path}`
    t.strictSame([refused.status, refused.headers['retry-after']], [503, '1'], what)
    if (!what.includes('ofrep')) t.strictSame(busy(refused.text), BUSY, what)
  }
  const authorization = { authorization: `Bearer ${other.json.clientToken}` }
  for (const [method, path] of large.filter(([method]) => method === 'GET'))
    t.equal((await service.request(method, pathNow(path, clock), undefined, authorization)).status, 200, path)
  const page = await service.metrics()
  t.ok(gauge(page, 'used_bytes') <= 20 * MB)
  t.equal(gauge(page, 'bytes'), 20 * MB)
  t.equal(gauge(await service.metrics(), 'refused_total'), large.length)
  socket.destroy()
  await eventually(async () => gauge(await service.metrics(), 'used_bytes') === 0, 'all room to be free')
  t.match((await service.request('GET', `${N}/flags/big`)).json, { name: 'big' }, 'what was refused was not written')
  for (const [method, path, body] of large)
    t.equal((await service.request(method, pathNow(path, clock), body)).status, 200, path)
  t.equal(gauge(await service.metrics(), 'used_bytes'), 0)
})

await t.test('answers to published tokens are limited to a smaller size', async (t) => {
  const service = await startService(t, { 'server.published_max_response_bytes': '65536' })
  const make = maker(service)
  await make.segment('all')
  await make.variantFlag('big')
  const id = await make.variant('big', 'v', JSON.stringify('x'.repeat(10_000)))
  await make.rule('big', { segmentKey: 'all' }, { [id]: 100 })
  const { json } = await service.request<{ clientToken: string }>('POST', '/auth/v1/method/token', {
    name: 'web',
    role: 'client',
  })
  const authorization = { authorization: `Bearer ${json.clientToken}` }
  const many = (count: number) => ({ requests: batch.requests.slice(0, count) })
  for (const path of ['/evaluate/v1/batch', '/api/v1/batch-evaluate', `${N}/batch-evaluate`]) {
    t.equal((await service.request('POST', path, many(6), authorization)).status, 200, path)
    const refused = await service.request('POST', path, many(7), authorization)
    t.match([refused.status, refused.text], [400, /answer is larger than 65536 bytes/], path)
    t.equal((await service.request('POST', path, many(20))).status, 200, `${path} of another`)
  }
})

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { get as httpGet, type IncomingMessage } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import { Refusal } from '../../src/base/errors.ts'
import { route } from '../../src/http/route/route.ts'
import { ordinary } from '../../src/http/route/statements.ts'
import { shutDown } from '../../src/http/server.ts'
import { type Answer, ok } from '../../src/http/wire/reply.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { demo, exchange, problemOf } from './demo.ts'
import { get, H } from './requests.ts'

/** Source whose chunks the test releases, and which reports its end. */
const gated = () => {
  const waiting: ((result: IteratorResult<Buffer, undefined>) => void)[] = []
  const ready: IteratorResult<Buffer, undefined>[] = []
  const counts = { asked: 0, returned: 0 }
  const give = (result: IteratorResult<Buffer, undefined>): void => {
    const next = waiting.shift()
    if (next) next(result)
    else ready.push(result)
  }
  const source: AsyncIterableIterator<Buffer, undefined> = {
    [Symbol.asyncIterator]: () => source,
    next: () => {
      counts.asked++
      const held = ready.shift()
      return held ? Promise.resolve(held) : new Promise((resolve) => waiting.push(resolve))
    },
    return: () => {
      counts.returned++
      return Promise.resolve({ done: true, value: undefined })
    },
  }
  return {
    source,
    counts,
    send: (text: string) => give({ done: false, value: Buffer.from(text) }),
    end: () => give({ done: true, value: undefined }),
  }
}

/** Server whose route `/stream` returns the given answer, and which counts log calls. */
const streaming = async (t: Test, answer: () => Omit<Answer<string>, 'body'>) => {
  const told: number[] = []
  const clock = virtualClock()
  const own = await demo({
    clock,
    answered: (request, reply) => {
      if (request.spec?.url === '/stream') told.push(reply.statusCode)
    },
    routes: [
      (app) =>
        route(app, {
          ...ordinary,
          method: 'GET',
          url: '/stream',
          access: { credential: 'public' },
          tag: '',
          summary: '',
          answer: Type.String(),
          run: () => ({ body: undefined, ...answer() }),
        }),
      (app) =>
        route(app, {
          ...ordinary,
          method: 'GET',
          url: '/small',
          access: { credential: 'public' },
          tag: '',
          summary: '',
          answer: Type.String(),
          run: () => ok('small'),
        }),
    ],
  })
  t.teardown(() => own.app.close())
  const ask = async (headers: Readonly<Record<string, string>> = {}): Promise<IncomingMessage> => {
    const [incoming] = (await once(httpGet(`${own.url}/stream`, { headers, agent: false }), 'response')) as [
      IncomingMessage,
    ]
    return incoming
  }
  /** Waits until the answer of a stream is finished. */
  const over = () => eventually(() => told.length > 0, 'the end of the request')
  return { ...own, clock, told, ask, over }
}

for (const headers of [{}, { 'accept-encoding': 'gzip' }]) {
  const how = JSON.stringify(headers)
  await t.test(`a streamed answer is logged and counted when it ends: ${how}`, async (t) => {
    const { source, send, end, counts } = gated()
    const { ask, told, over } = await streaming(t, () => ({ chunks: source }))
    const asked = ask(headers)
    send('one,')
    const incoming = await asked
    t.equal(incoming.statusCode, 200)
    t.same(told, [], 'the head is there, the request is not over')
    const received: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => received.push(chunk))
    send('two')
    end()
    await once(incoming, 'end')
    await over()
    t.same(told, [200])
    const bytes = Buffer.concat(received)
    t.equal(String(incoming.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes), 'one,two')
    t.equal(counts.returned, 0, 'a source that came to its end is not ended')
  })

  await t.test(`a streamed answer is created only as fast as the client reads it: ${how}`, async (t) => {
    const source = { made: 0 }
    async function* endless() {
      for (;;) {
        source.made++
        yield randomBytes(65_536)
      }
    }
    const { ask, told, over, port } = await streaming(t, () => ({ chunks: endless() }))
    const incoming = await ask(headers)
    await eventually(() => source.made > 2, 'the first chunks')
    // An unthrottled source creates at least one chunk per request.
    for (let still = 0; still < 50 && source.made < 400; ) {
      const before = source.made
      await exchange(port, get('/small', H))
      still = source.made === before ? still + 1 : 0
    }
    t.ok(source.made < 400, `${source.made} chunks of 64 KiB for a client that takes none`)
    let taken = 0
    for await (const chunk of incoming) {
      taken += (chunk as Buffer).length
      if (taken > 600 * 65_536) break
    }
    t.ok(source.made >= 550, 'more are made as it takes them')
    await over()
    t.same(told, [200])
  })
}

await t.test('if the client disconnects, the source of its streamed answer is closed', async (t) => {
  const { source, send, counts } = gated()
  const { ask, told, log, over } = await streaming(t, () => ({ chunks: source }))
  const asked = ask()
  send('one')
  const incoming = await asked
  await eventually(() => counts.asked === 2, 'the second chunk to be asked for')
  incoming.destroy()
  await over()
  t.same([counts.returned, told], [1, [200]])
  t.same(log, [], 'no error')

  let cleaned = false
  function* sync() {
    try {
      for (;;) yield Buffer.alloc(65_536)
    } finally {
      cleaned = true
    }
  }
  const other = await streaming(t, () => ({ chunks: sync() }))
  const left = await other.ask()
  left.destroy()
  t.ok(await eventually(() => cleaned, 'the end of the source'))
})

await t.test('an error after the headers were sent cuts the connection, and is logged once', async (t) => {
  for (const headers of [{}, { 'accept-encoding': 'gzip' }]) {
    let fail = (): void => undefined
    const headThere = new Promise<void>((resolve) => (fail = resolve))
    const { ask, told, log, over } = await streaming(t, () => ({
      chunks: (async function* () {
        yield Buffer.alloc(100_000, 'x')
        await headThere
        throw new Error('away')
      })(),
    }))
    const incoming = await ask(headers)
    incoming.resume()
    fail()
    await t.rejects(once(incoming, 'end'), /aborted/)
    await over()
    t.same(told, [200])
    t.match(log, [{ record: { route: '/stream', requestId: /./, err: /away/ } }])
    t.equal(log.length, 1)
  }
})

await t.test('an error before the first chunk of a streamed answer is answered like any error', async (t) => {
  const failing = (fault: Error) => ({
    chunks: {
      [Symbol.asyncIterator]: () => ({
        next: async (): Promise<never> => {
          await setImmediate()
          throw fault
        },
      }),
    },
    length: 700,
    etag: '7',
  })
  for (const encoding of ['', 'Accept-Encoding: gzip\r\n']) {
    const defect = await streaming(t, () => failing(new Error('away')))
    const failed = await exchange(defect.port, get('/stream', H + encoding))
    t.equal(failed.status, 500)
    t.equal(failed.headers.get('content-encoding'), undefined)
    t.match(problemOf(failed), { reason: 'internal' })
    t.same([defect.told, defect.log.length], [[500], 1])
    const away = await streaming(t, () => failing(new Refusal('backend_unavailable')))
    t.match(problemOf(await exchange(away.port, get('/stream', H + encoding))), { reason: 'backend_unavailable' })
    t.same([away.told, away.log], [[503], []])
  }
})

await t.test('HEAD on a streamed answer does not read its source', async (t) => {
  const { source, counts } = gated()
  const { port, told, over } = await streaming(t, () => ({ chunks: source, length: 12 }))
  const { status, headers, body } = await exchange(port, `HEAD /stream HTTP/1.1\r\n${H}\r\n`)
  t.same([status, headers.get('content-length'), body, counts.asked], [200, '12', '', 0])
  await over()
  t.same(told, [200])
})

/** Server that sends a stream, and its stop with a grace period. */
const stopping = async (t: Test, patience: number) => {
  const { source, send, end, counts } = gated()
  const server = await streaming(t, () => ({ chunks: source }))
  const asked = server.ask()
  send('one')
  const incoming = await asked
  const received = { text: '' }
  incoming.on('data', (chunk: Buffer) => (received.text += String(chunk)))
  incoming.on('error', () => undefined)
  const stop = { cut: undefined as number | undefined }
  void shutDown(server.app, patience).then((cut) => (stop.cut = cut))
  const stopped = () => eventually(() => stop.cut !== undefined, 'the end of the stop')
  return { ...server, incoming, received, send, end, counts, stop, stopped }
}

await t.test('a stop of the service waits for the end of a running streamed answer', async (t) => {
  const { clock, incoming, received, send, end, told, stop, stopped } = await stopping(t, 20_000)
  await clock.advance(19_000)
  t.same([stop.cut, told], [undefined, []])
  send(' two')
  end()
  await once(incoming, 'end')
  await clock.advance(1_000)
  await stopped()
  t.same([received.text, told, stop.cut], ['one two', [200], 0])
})

await t.test('a stop of the service ends a streamed answer after its grace period', async (t) => {
  const { clock, told, counts, stop, stopped, over } = await stopping(t, 300)
  await clock.advance(299)
  t.same([counts.returned, told, stop.cut], [0, [], undefined])
  await clock.advance(1)
  await over()
  await stopped()
  t.same([counts.returned, told, stop.cut], [1, [200], 1])
})

await t.test('a streamed answer with a deadline is cut when that passes', async (t) => {
  const { source, send, counts } = gated()
  const { ask, told, over, clock, log } = await streaming(t, () => ({ chunks: source, within: 10_000 }))
  const asked = ask()
  send('one')
  const slow = await asked
  slow.resume()
  await clock.advance(9_999)
  t.same([counts.returned, told, slow.destroyed], [0, [], false])
  const broken = t.rejects(once(slow, 'end'), /aborted/)
  await clock.advance(1)
  await broken
  await over()
  t.same([counts.returned, told, log], [1, [200], []])

  const quick = await streaming(t, () => ({ chunks: [Buffer.from('all')], within: 10_000 }))
  const taken = await quick.ask()
  taken.resume()
  await once(taken, 'end')
  await quick.over()
  await eventually(() => !quick.clock.waiting().includes(10_000), 'the end of the time limit of what was taken')
  t.same(quick.told, [200])
})

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { get as httpGet, type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import { Refusal } from '../../src/errors.ts'
import { route } from '../../src/http/route.ts'
import { shutDown } from '../../src/http/server.ts'
import { ordinary } from '../../src/http/statements.ts'
import type { Answer } from '../../src/http/wire/reply.ts'
import { demo, exchange, problemOf } from './demo.ts'
import { get, H } from './requests.ts'

/** A source of chunks that a test opens one by one, and that says when it was ended. */
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

/** A server whose route `/stream` answers what the test gives, and which counts what it is told. */
const streaming = async (t: Test, answer: () => Omit<Answer<string>, 'body'>) => {
  const told: number[] = []
  const own = await demo({
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
    ],
  })
  t.teardown(() => own.app.close())
  const ask = async (headers: Readonly<Record<string, string>> = {}): Promise<IncomingMessage> => {
    const [incoming] = (await once(httpGet(`${own.url}/stream`, { headers, agent: false }), 'response')) as [
      IncomingMessage,
    ]
    return incoming
  }
  return { ...own, told, ask }
}

/** Waits until something is so. */
const until = async (isSo: () => boolean): Promise<void> => {
  for (let n = 0; n < 1_500 && !isSo(); n++) await sleep(10)
}

for (const headers of [{}, { 'accept-encoding': 'gzip' }]) {
  const how = JSON.stringify(headers)
  await t.test(`a stream is told of when it ends, not when it begins: ${how}`, async (t) => {
    const { source, send, end, counts } = gated()
    const { ask, told } = await streaming(t, () => ({ chunks: source }))
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
    await until(() => told.length > 0)
    t.same(told, [200])
    const bytes = Buffer.concat(received)
    t.equal(String(incoming.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes), 'one,two')
    t.equal(counts.returned, 0, 'a source that came to its end is not ended')
  })

  await t.test(`nothing is made that the client does not take: ${how}`, async (t) => {
    let made = 0
    async function* endless() {
      for (;;) {
        made++
        yield randomBytes(65_536)
      }
    }
    const { ask, told } = await streaming(t, () => ({ chunks: endless() }))
    const incoming = await ask(headers)
    await until(() => made > 2)
    let before = -1
    while (made > before) {
      before = made
      await sleep(300)
    }
    t.ok(made < 400, `${made} chunks of 64 KiB for a client that takes none`)
    let taken = 0
    for await (const chunk of incoming) {
      taken += (chunk as Buffer).length
      if (taken > 600 * 65_536) break
    }
    t.ok(made >= 550, 'more are made as it takes them')
    await until(() => told.length > 0)
    t.same(told, [200])
  })
}

await t.test('a client that leaves ends the source, whatever it waits for', async (t) => {
  const { source, send, counts } = gated()
  const { ask, told, log } = await streaming(t, () => ({ chunks: source }))
  const asked = ask()
  send('one')
  const incoming = await asked
  await until(() => counts.asked === 2)
  incoming.destroy()
  await until(() => told.length > 0)
  t.same([counts.returned, told], [1, [200]])
  t.same(log, [], 'nobody has failed')

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
  await until(() => cleaned)
  t.ok(cleaned)
})

await t.test('a source that fails after the head cuts the connection and is told once', async (t) => {
  for (const headers of [{}, { 'accept-encoding': 'gzip' }]) {
    const { ask, told, log } = await streaming(t, () => ({
      chunks: (async function* () {
        yield Buffer.alloc(100_000, 'x')
        await sleep(20)
        throw new Error('away')
      })(),
    }))
    const incoming = await ask(headers)
    incoming.resume()
    await t.rejects(once(incoming, 'end'), /aborted/)
    await until(() => told.length > 0)
    t.same(told, [200])
    t.match(log, [{ record: { route: '/stream', requestId: /./, err: /away/ } }])
    t.equal(log.length, 1)
  }
})

await t.test('a source that fails before its first chunk is answered like any failure', async (t) => {
  const failing = (fault: Error) => ({
    chunks: {
      [Symbol.asyncIterator]: () => ({
        next: async (): Promise<never> => {
          await sleep(5)
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

await t.test('HEAD asks nothing of the source', async (t) => {
  const { source, counts } = gated()
  const { port, told } = await streaming(t, () => ({ chunks: source, length: 12 }))
  const { status, headers, body } = await exchange(port, `HEAD /stream HTTP/1.1\r\n${H}\r\n`)
  t.same([status, headers.get('content-length'), body, counts.asked], [200, '12', '', 0])
  await until(() => told.length > 0)
  t.same(told, [200])
})

await t.test('a stop waits for a stream under way until its end', async (t) => {
  const { source, send, end } = gated()
  const { app, ask, told } = await streaming(t, () => ({ chunks: source }))
  const asked = ask()
  send('one')
  const incoming = await asked
  let text = ''
  incoming.on('data', (chunk: Buffer) => (text += String(chunk)))
  let stopped = false
  const stopping = shutDown(app, 20_000).then(() => (stopped = true))
  await sleep(200)
  t.equal(stopped, false)
  send(' two')
  end()
  await once(incoming, 'end')
  await stopping
  t.same([text, told], ['one two', [200]])
})

await t.test('a stop ends a stream when its patience is over', async (t) => {
  const { source, send, counts } = gated()
  const { app, ask, told } = await streaming(t, () => ({ chunks: source }))
  const asked = ask()
  send('one')
  const incoming = await asked
  incoming.on('error', () => undefined)
  await shutDown(app, 300)
  await until(() => told.length > 0)
  t.same([counts.returned, told], [1, [200]])
})

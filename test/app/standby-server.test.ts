import { type AddressInfo, connect } from 'node:net'
import t from 'tap'
import { sooner, standbyServer } from '../../src/app/lifecycle/standby-server.ts'
import { systemClock } from '../../src/base/clock.ts'
import { Refusal } from '../../src/base/errors.ts'
import { bind, openPort, unbind } from '../../src/http/wire/port.ts'
import { settings } from '../http/demo.ts'
import { noted } from '../noted.ts'
import { startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'

const [one, other] = [openPort(settings, systemClock), openPort(settings, systemClock)]
const room = standbyServer([one, other])
for (const port of [one, other]) await bind(port, { host: '127.0.0.1', port: 0, choose: { port: '', host: '' } })
t.teardown(() => Promise.all([unbind(one), unbind(other)]))
const { port } = one.server.address() as AddressInfo

type Asked = { readonly status: number; readonly headers: Headers; readonly json: Record<string, unknown> }
const ask = async (
  path: string,
  headers: Readonly<Record<string, string>> = {},
  at = `http://127.0.0.1:${port}`,
): Promise<Asked> => {
  const answer = await fetch(at + path, { headers })
  return { status: answer.status, headers: answer.headers, json: (await answer.json()) as Record<string, unknown> }
}

await t.test('while a server is missing, the service is live but not ready, and names the server', async (t) => {
  t.match(await ask('/livez'), { status: 200, json: { status: 'ok' } })
  t.strictSame((await ask('/readyz')).json, { status: 'not_ready' })
  room.missing(new Error('mongodb is unreachable or refuses the connection\nand more'))
  const { status, json } = await ask('/readyz/?verbose')
  t.equal(status, 503)
  t.strictSame(json['checks'], [{ name: 'mongodb is unreachable or refuses the connection', status: 'failed' }])
  const { status: refused, headers, json: body } = await ask('/api/v1/namespaces')
  t.equal(refused, 503)
  t.equal(headers.get('retry-after'), '1')
  t.match(body, { code: 14, details: [{ value: { reason: 'backend_unavailable' } }] })
})

await t.test('the standby server keeps a valid request id, also in the body of an error', async (t) => {
  const kept = await ask('/auth/v1/self', { 'x-request-id': 'my.own-id_1' })
  t.equal(kept.headers.get('x-request-id'), 'my.own-id_1')
  t.match(kept.json, { details: [{ value: { metadata: { requestId: 'my.own-id_1' } } }] })
  t.equal((await ask('/livez', { 'x-request-id': 'my.own-id_1' })).headers.get('x-request-id'), 'my.own-id_1')
  for (const given of ['no id', 'x'.repeat(129)])
    t.match(
      (await ask('/livez', { 'x-request-id': given })).headers.get('x-request-id'),
      /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
    )
})

await t.test('the standby server answers health checks by name, as the service does', async (t) => {
  const service = await startService(t)
  for (const path of ['/health?service=other', '/health?service=a&service=b', '/health?service=%ZZ']) {
    const [here, there] = [
      await ask(path, { 'x-request-id': 'one' }),
      await ask(path, { 'x-request-id': 'one' }, service.url),
    ]
    t.strictSame([here.status, here.json], [there.status, there.json], path)
    for (const name of ['content-type', 'cache-control', 'x-content-type-options', 'x-request-id'])
      t.equal(here.headers.get(name), there.headers.get(name), `${path} ${name}`)
  }
  for (const path of ['/health', '/health?service=', '/health/?service'])
    t.match(await ask(path), { status: 503, json: { status: 'NOT_SERVING' } }, path)
})

await t.test('a missing server is logged with its cause, each new cause, and its return', async (t) => {
  const lines: (readonly [level: string, record: object, message: string])[] = []
  const away = (what: string, cause: string) => new Refusal('backend_unavailable', what, { cause: new Error(cause) })
  const failures = [
    away('mongodb is away', 'connect ECONNREFUSED mongodb://me:secret@127.0.0.1:1\n    at connect'),
    away('mongodb is away', 'connect ECONNREFUSED mongodb://me:other@127.0.0.1:1'),
    new Error('mongodb is away', { cause: away('not now', 'timed out') }),
    new Error('mongodb is away', { cause: new AggregateError([new Error('timed out'), new Error('refused')]) }),
    away('eventstoredb is away', 'no leader'),
  ]
  const begin = async () => {
    const failure = failures.shift()
    if (failure) throw failure
    return 'begun'
  }
  const told = (level: string) => (record: object, message: string) => void lines.push([level, record, message])
  const logger = { warn: told('warn'), info: told('info') } as unknown as Parameters<typeof sooner>[2]
  const clock = virtualClock()
  const begun = sooner(begin, clock, logger, room, undefined)
  for (const left of [4, 3, 2, 1]) {
    await clock.advance(999)
    t.equal(failures.length, left)
    await clock.advance(1)
    t.equal(failures.length, left - 1, 'it is tried again after a second')
  }
  await clock.advance(1_000)
  t.equal(await begun, 'begun')
  t.match(lines, [
    ['warn', { missing: 'mongodb is away', why: 'connect ECONNREFUSED mongodb://127.0.0.1:1' }, /cannot start yet/],
    ['warn', { missing: 'mongodb is away', why: 'timed out' }, /cannot start yet/],
    ['warn', { missing: 'eventstoredb is away', why: 'no leader' }, /cannot start yet/],
    ['info', { seconds: 5 }, 'all servers that the start waited for are available'],
  ])
  t.equal(lines.length, 4)
  t.notMatch(JSON.stringify(lines), /secret|stack/)
  lines.length = 0
  t.equal(await sooner(begin, clock, logger, room, undefined), 'begun')
  t.same(lines, [], 'nothing is told of a start that waits for nothing')
})

await t.test('a service that waits for a missing server ends when a stop is requested', async (t) => {
  const clock = virtualClock()
  const ending = new AbortController()
  const logger = { warn: () => undefined, info: () => undefined } as unknown as Parameters<typeof sooner>[2]
  let tries = 0
  const begin = async () => {
    tries++
    throw new Refusal('backend_unavailable', 'mongodb is away')
  }
  const over = noted(sooner(begin, clock, logger, room, ending.signal))
  await clock.advance(1_500)
  t.strictSame([tries, over], [2, []])
  ending.abort()
  await clock.settle()
  t.match(over, [{ message: 'mongodb is away' }], 'what is missing is the reason')
  t.equal(tries, 3, 'it looks once more, for what came meanwhile')
  t.strictSame(clock.waiting(), [])
})

/** Status line, headers in question and body of the answer to a raw request. */
const raw = (at: number, method: string, path: string, more = ''): Promise<object> =>
  new Promise((done, failed) => {
    let text = ''
    const socket = connect(at, '127.0.0.1', () =>
      socket.write(`${method} ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-request-id: one\r\n${more}\r\n`),
    )
    socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    socket.once('error', failed).once('close', () => {
      const [head = '', body = ''] = text.replace(/^HTTP\/1\.1 100 .*\r\n\r\n/, '').split('\r\n\r\n', 2)
      done({ status: head.slice(9, 12), allow: /^allow: (.*)$/im.exec(head)?.[1], body: body.trim() })
    })
  })

await t.test('the standby server answers other methods and expectations as the service does', async (t) => {
  const service = await startService(t)
  const there = Number(new URL(service.url).port)
  for (const path of ['/livez', '/health?service=other'])
    for (const method of ['GET', 'HEAD', 'TRACE', 'POST', 'DELETE', 'OPTIONS', 'PROPFIND'])
      for (const more of ['', 'expect: 200-ok\r\n', 'expect: 100-continue\r\n'])
        t.strictSame(
          await raw(port, method, path, more),
          await raw(there, method, path, more),
          `${method} ${path} ${more}`,
        )
  const refused = await raw(port, 'TRACE', '/api/v1/namespaces', 'expect: 200-ok\r\n')
  t.match(refused, { status: '503', body: /backend_unavailable/ })
})

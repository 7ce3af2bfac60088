import { request } from 'node:http'
import { request as requestSecurely } from 'node:https'
import { connect, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { connect as connectSecurely } from 'node:tls'
import t, { type Test } from 'tap'
import { isForNow, isLate, ownFaults } from '../late-servers.ts'
import { PAGE_MS } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { demo } from './demo.ts'
import { eventsOf } from './events-of.ts'
import { httpsSettings } from './https.ts'
import { CODEHOST, EXCHANGE, everyWay, OIDC, type Settings } from './people.ts'

/** Delay of a reset: none, so that no byte is read, or some turns of the shared event loop. */
type When = () => Promise<void> | undefined
type Way = (port: number, bytes: string, when: When) => Promise<void>

const atOnce: When = () => undefined
const after =
  (turns: number): When =>
  async () => {
    for (let n = 0; n < turns; n++) await setImmediate()
  }

/** Resets a connection, as with SO_LINGER 0. */
const reset = async (socket: Socket, when: When): Promise<void> => {
  const waiting = when()
  if (waiting) await waiting
  const closed = new Promise((done) => socket.once('close', done))
  socket.resetAndDestroy()
  await closed
}

/** Sends bytes and resets the connection. */
const plainly: Way = (port, bytes, when) =>
  new Promise((done) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(bytes)
      void reset(socket, when).then(done)
    })
    socket.on('error', () => undefined)
  })

const securely: Way = (port, bytes, when) =>
  new Promise((done) => {
    const socket = connect(port, '127.0.0.1')
    const secure = connectSecurely({ socket, rejectUnauthorized: false }, () => {
      secure.write(bytes, () => void reset(socket, when).then(done))
    })
    for (const each of [socket, secure]) each.on('error', () => undefined)
  })

const N = '/api/v1/namespaces'
const ask = JSON.stringify({ namespaceKey: 'default', flagKey: 'f', entityId: 'e', context: {} })
/** One request per group of routes: request line and body. */
const requests: readonly (readonly [line: string, body?: string])[] = [
  ['GET /livez'],
  ['GET /openapi.json'],
  ['GET /metrics'],
  ['GET /auth/v1/self'],
  ['PUT /auth/v1/self/session', '{}'],
  ['GET /auth/v1/tokens'],
  ['POST /auth/v1/method/token', '{"name":"reset"}'],
  [`GET ${N}/default/flags`],
  [`POST ${N}/default/flags`, '{"key":"f","name":"f","type":"BOOLEAN_FLAG_TYPE"}'],
  [`GET ${N}`],
  ['POST /api/v1/evaluate', ask],
  ['POST /evaluate/v1/boolean', ask],
  ['GET /internal/v1/evaluation/snapshot/namespace/default'],
  ['POST /ofrep/v1/evaluate/flags/f', '{"context":{"targetingKey":"e"}}'],
  [`GET ${OIDC}/authorize`],
  [`GET ${OIDC}/callback?code=c&state=s`],
  [`GET ${CODEHOST}/callback?code=c&state=s`],
  [`POST ${EXCHANGE}`, '{"serviceAccountToken":"a.b.c"}'],
  ['GET /nowhere'],
  ['PATCH /auth/v1/self'],
]

/** Requests with every credential: their bytes, and whether all positions are tried. */
const attacks = (valid: string, bound: string, more: string) => {
  const credentials: Readonly<Record<string, string>> = {
    none: '',
    'bad bearer': 'Authorization: Bearer nope\r\n',
    bearer: `Authorization: Bearer ${valid}\r\n`,
    'bearer out of reach': `Authorization: Bearer ${bound}\r\n`,
    'bad cookie': 'Cookie: service_client_token=nope\r\n',
    cookie: `Cookie: service_client_token=${valid}\r\n`,
  }
  return requests.flatMap(([line, body = '']) =>
    Object.entries(credentials).map(([name, credential]) => {
      const length = body === '' ? '' : `Content-Length: ${body.length}\r\n`
      const head = `${line} HTTP/1.1\r\nHost: x\r\n${more}${credential}${length}\r\n`
      return { bytes: head + body, head: head.length, dense: name === 'bad bearer' && line === 'GET /auth/v1/self' }
    }),
  )
}

/** Positions at which connections are cut: all, or some plus both ends of the head and the end. */
const cuts = (length: number, head: number, step: number): readonly number[] => {
  const places = Array.from({ length: Math.ceil(length / step) }, (_, n) => n * step)
  return [...new Set([...places, head - 1, head, length - 1, length])].filter((place) => place >= 0)
}

const decisions = /^rollcall_auth_decisions_total\{result="refused",reason="(\w+)",method="\w*"\} (\d+)$/gm

/** Cuts connections at every stage of every request, then compares the metrics. */
const attack = async (t: Test, settings: Settings, way: Way, step: number, more = '') => {
  const clock = virtualClock(new Date().toISOString())
  const { service } = await everyWay(t, settings, { clock })
  const { port } = new URL(service.url)
  /** Sends a request on a connection of its own, which the service accepts after all earlier connections. */
  const ask = (path: string, method: string, body: string) =>
    new Promise<{ readonly status: number; readonly text: string }>((answered, failed) => {
      const headers = {
        authorization: `Bearer ${service.token}`,
        ...(body !== '' && { 'content-length': String(body.length) }),
      }
      const send = way === plainly ? request : requestSecurely
      const asked = send(
        `${service.url}${path}`,
        { method, headers, agent: false, rejectUnauthorized: false },
        (response) => {
          let text = ''
          response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
          response.on('end', () => answered({ status: response.statusCode ?? 0, text }))
        },
      )
      asked.on('error', failed).end(body)
    })
  const get = async (path: string, method = 'GET', body = '') => {
    const { status, text } = await eventually(async () => {
      const given = await ask(path, method, body)
      return !isForNow(method, given) && given
    }, `an answer to ${method} ${path}`)
    if (status !== 200) throw new Error(`${path}: ${status}`)
    return text
  }
  await get(N, 'POST', '{"key":"other","name":"other"}')
  const { clientToken } = JSON.parse(
    await get('/auth/v1/method/token', 'POST', '{"name":"bound","namespaceKey":"other"}'),
  ) as {
    clientToken: string
  }

  const work = attacks(service.token, clientToken, more).flatMap(({ bytes, head, dense }) => [
    ...cuts(bytes.length, head, dense ? 1 : step).map((place) => [bytes.slice(0, place), atOnce] as const),
    ...[1, 2, 4, 8].map((turns) => [bytes, after(turns)] as const),
  ])
  let sent = 0
  const lane = async () => {
    for (let next = work[sent++]; next; next = work[sent++]) await way(Number(port), next[0], next[1])
  }
  await Promise.all(Array.from({ length: 16 }, lane))

  t.match(await get('/livez'), /"ok"/, 'it is alive')
  /** Returns the next metrics page, which counts the previous one. */
  const pageAfter = async (before: string) => {
    await clock.advance(PAGE_MS)
    return eventually(async () => {
      const page = await get('/metrics')
      return page === before ? undefined : page
    }, 'a new page of metrics')
  }
  const countsOf = (page: string) =>
    new Map([...page.matchAll(decisions)].map(([, reason, count]) => [reason!, Number(count)]))
  let page = await pageAfter('')
  for (let before = ''; before !== JSON.stringify([...countsOf(page)]); page = await pageAfter(page))
    before = JSON.stringify([...countsOf(page)])
  const counts = countsOf(page)
  await service.close()

  const logged = await service.logged()
  t.strictSame(ownFaults(logged), [], 'nothing failed')
  const answered = logged.split('\n').filter((line) => /"status":5\d\d.*"msg":"answered"/.test(line))
  const failed = answered.filter((text) => !isLate({ status: (JSON.parse(text) as { status: number }).status, text }))
  t.strictSame(failed, [], 'and nothing was refused but for now')
  const told = new Map<string, number>()
  for (const { data } of await eventsOf(service.directory, ({ type }) => type === 'RefusalsSummarised')) {
    const byReason = Object.entries(data['byReason'] as Readonly<Record<string, number>>)
    for (const [reason, count] of byReason) told.set(reason, (told.get(reason) ?? 0) + count)
    t.equal(
      data['total'],
      byReason.reduce((sum, [, count]) => sum + count, 0),
    )
  }
  for (const [reason, count] of counts) t.equal(told.get(reason), count, `the history has all ${count} of ${reason}`)
  t.ok(counts.size > 0)
  t.comment(`${work.length} connections cut; refused: ${JSON.stringify(Object.fromEntries(counts))}`)
}

await t.test('the service survives a connection that is reset at any stage of a request', async (t) => {
  await t.test('the service survives a reset connection with each kind of credential', (t) =>
    attack(t, {}, plainly, 16),
  )
  await t.test('the service survives a connection reset behind a trusted proxy', (t) =>
    attack(
      t,
      { 'server.trust_proxy': '127.0.0.1' },
      plainly,
      96,
      'X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\nAccept-Encoding: gzip\r\n',
    ),
  )
  await t.test('the service survives a connection reset if it requires no credentials', (t) =>
    attack(t, { 'authentication.required': 'false' }, plainly, 96),
  )
  await t.test('the service survives a connection reset by browsers of other origins', (t) =>
    attack(
      t,
      { 'cors.enabled': 'true', 'cors.allowed_origins': 'https://a.example' },
      plainly,
      96,
      'Origin: https://a.example\r\n',
    ),
  )
  await t.test('the service survives a connection reset over TLS', async (t) => {
    await attack(t, await httpsSettings(t), securely, 96)
  })
})

for (const [name, trustProxy] of [
  ['without', false],
  ['with', ['127.0.0.1']],
] as const) {
  await t.test(`an unavailable client address is "unknown", ${name} a trusted proxy`, async (t) => {
    const seen = new Set<string>()
    const { app, port, log } = await demo({
      config: {
        publishedBodyLimit: 1_000,
        bodyLimit: 1000,
        headersTimeout: 5000,
        requestTimeout: 10_000,
        keepAliveTimeout: 72_000,
        trustProxy,
      },
      authorize: ({ request }) => {
        seen.add(request.address)
        request.caller = { actor: { kind: 'anonymous' }, via: 'none' }
      },
    })
    t.teardown(() => app.close())
    const bytes = 'GET /auth/v1/tokens HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.7\r\n\r\n'
    for (let n = 0; n < 20; n++) await plainly(port, bytes, atOnce)
    await plainly(port, bytes, async () => {
      await eventually(() => seen.size === 2, 'the request to be read')
    })
    t.strictSame([...seen].toSorted(), [trustProxy ? '192.0.2.7' : '127.0.0.1', 'unknown'])
    t.strictSame(log, [])
  })
}

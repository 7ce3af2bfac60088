import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import type { TSchema } from 'typebox'
import { Type } from 'typebox'
import { type RouteOptions, route } from '../../src/http/route/route.ts'
import { ordinary } from '../../src/http/route/statements.ts'
import { pageHeaders } from '../../src/http/routes/docs.ts'
import { shutDown } from '../../src/http/server.ts'
import { ok } from '../../src/http/wire/reply.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { demo, exchange, problemOf, SLOW_MS, settings } from './demo.ts'
import { A, body, flags, get, H, post } from './requests.ts'

const served = await demo()
t.teardown(() => served.app.close())
const ask = (bytes: string | Buffer) => exchange(served.port, bytes)

void t.test('a valid request id of the client is kept, and an invalid one is replaced', async (t) => {
  t.equal((await ask(get('/livez', `${H}x-request-id: my.id-1_A\r\n`))).headers.get('x-request-id'), 'my.id-1_A')
  for (const bad of ['', 'a b', 'x'.repeat(129), 'a/b']) {
    t.match(
      (await ask(get('/livez', `${H}x-request-id: ${bad}\r\n`))).headers.get('x-request-id'),
      /^[0-9a-f]{8}-[0-9a-f]{4}-4/,
      bad,
    )
  }
})

void t.test('HEAD answers like GET without the body', async (t) => {
  const [head, whole] = [
    await ask(`HEAD /api/v1/namespaces/a HTTP/1.1\r\n${A}\r\n`),
    await ask(get('/api/v1/namespaces/a')),
  ]
  t.equal(head.status, 200)
  t.equal(head.body, '')
  for (const name of ['content-type', 'content-length', 'etag'])
    t.equal(head.headers.get(name), whole.headers.get(name), name)
})

void t.test('the parameter pretty indents answers and errors by two spaces', async (t) => {
  t.equal((await ask(get('/livez?pretty', H))).body, '{\n  "status": "ok"\n}')
  t.equal((await ask(get('/livez?a=b&pretty=no', H))).body, '{\n  "status": "ok"\n}')
  t.equal((await ask(get('/livez?prettyish', H))).body, '{"status":"ok"}')
  t.match((await ask(get('/nothing?pretty=', H))).body, /^\{\n {2}"code": 5/)
})

void t.test('a read whose If-None-Match has the present revision gets 304', async (t) => {
  const held = await ask(get('/api/v1/namespaces/a', `${A}If-None-Match: "1", W/"7"\r\n`))
  t.same([held.status, held.body, held.headers.get('etag')], [304, '', '"7"'])
  t.equal((await ask(get('/api/v1/namespaces/a', `${A}If-None-Match: "8"\r\n`))).status, 200)
  t.equal((await ask(post(flags, body, `${A}If-None-Match: "1"\r\n`))).status, 200)
})

void t.test('an answer is compressed if the client accepts gzip, unless it is small', async (t) => {
  const encoding = async (path: string, accept: string) =>
    (await fetch(`${served.url}${path}`, { headers: { 'accept-encoding': accept } })).headers.get('content-encoding')
  t.equal(await encoding('/health', 'gzip'), 'gzip')
  t.equal(await encoding('/health', 'br, gzip;q=0.5'), 'gzip')
  t.equal(await encoding('/livez', 'gzip'), null)
  t.equal(await encoding('/health', 'br'), null)
  t.equal(await encoding('/health', 'gzip;q=0'), null)
  const hot = await ask(post('/evaluate/v1/boolean', '{"flagKey":"f"}', `${A}Accept-Encoding: gzip\r\n`))
  t.same([hot.status, hot.headers.get('content-encoding')], [200, undefined])
  const whole = (await (await fetch(`${served.url}/health`)).json()) as { text: string }
  t.equal(whole.text.length, 5000)
})

void t.test('the OpenAPI document and its page are created once, plain and compressed', async (t) => {
  const parts = ['/openapi.json', '/openapi.json?pretty', '/docs']
  const stringify = JSON.stringify.bind(JSON)
  let made = 0
  JSON.stringify = ((value: unknown, ...more: []) => {
    if (typeof value === 'object' && value !== null && 'openapi' in value) made++
    return stringify(value, ...more)
  }) as typeof stringify
  t.teardown(() => Object.assign(JSON, { stringify }))
  const texts = async (encoding: string) => {
    const answers = await Promise.all(
      parts.map((path) => fetch(`${served.url}${path}`, { headers: { 'accept-encoding': encoding } })),
    )
    for (const { headers } of answers) t.equal(headers.get('content-encoding'), encoding === 'gzip' ? 'gzip' : null)
    return Promise.all(answers.map((answer) => answer.text()))
  }
  const first = await texts('identity')
  t.same(JSON.parse(first[0]!), JSON.parse(first[1]!))
  t.match(first[1], /^\{\n {2}"openapi"/)
  for (const encoding of ['gzip', 'identity', 'gzip']) t.strictSame(await texts(encoding), first)
  t.ok(made <= 2, `made ${made} times`)
})

void t.test('a body with an unsupported content coding is refused, and the connection closed', async (t) => {
  const socket = connect(served.port, '127.0.0.1')
  let text = ''
  socket.setEncoding('utf8').on('data', (data: string) => (text += data))
  socket.write(
    `POST ${flags} HTTP/1.1\r\n${A}Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n${get('/livez', H)}`,
  )
  await new Promise((closed) => socket.once('close', closed))
  t.match(text, /^HTTP\/1\.1 400 [^]*connection: close\r\n[^]*invalid header Transfer-Encoding: must be chunked/i)
  t.equal(text.split('HTTP/1.1 ').length, 2, 'what follows on the connection is not answered')
})

void t.test('a 405 lists all methods of the path', async (t) => {
  const allow = async (path: string, verb: string) =>
    (await ask(`${verb} ${path} HTTP/1.1\r\n${A}\r\n`)).headers.get('allow')
  t.equal(await allow('/auth/v1/tokens', 'PATCH'), 'GET, HEAD')
  t.equal(await allow(`${flags}/x/rollouts/order`, 'GET'), 'PUT, DELETE', 'a name and a parameter in the same place')
  t.equal(await allow(`${flags}/x/rollouts/7`, 'GET'), 'DELETE')
})

void t.test('the headers for authentication and caching depend on the reason of the refusal', async (t) => {
  const missing = await ask(get('/auth/v1/tokens', H))
  t.equal(missing.headers.get('www-authenticate'), 'Bearer realm="rollcall"')
  const unusable = await ask(get('/auth/v1/tokens', `${H}Authorization: Bearer no\r\n`))
  t.equal(unusable.headers.get('www-authenticate'), 'Bearer realm="rollcall", error="invalid_token"')
  t.equal(problemOf(missing).message, problemOf(unusable).message)
  const scoped = await ask(get('/auth/v1/tokens', `${H}Authorization: Bearer bound\r\n`))
  t.equal(scoped.headers.get('www-authenticate'), 'Bearer error="insufficient_scope"')
  t.equal((await ask(get('/auth/v1/tokens'))).headers.get('cache-control'), 'no-store')
  t.equal((await ask(get('/api/v1/namespaces'))).headers.get('cache-control'), undefined)
})

void t.test('a defect is logged with its request and not shown to the client', async (t) => {
  const own = await demo()
  t.teardown(() => own.app.close())
  const failed = await exchange(own.port, get('/meta/boom', H))
  t.equal(failed.status, 500)
  t.match(problemOf(failed), { code: 13, message: 'internal error', reason: 'internal' })
  t.notOk(failed.body.includes('secret'))
  t.equal(own.log.length, 1)
  t.equal(own.log[0]?.record['requestId'], failed.headers.get('x-request-id'))
  t.equal(own.log[0]?.record['route'], '/meta/boom')
})

void t.test('the start fails if a route does not state its requirements', async (t) => {
  await t.rejects(
    demo({ routes: [(app) => void app.get('/open', () => 'x')] }),
    /route GET \/open does not state its access, cache, bodyLimit/,
  )
  const whole = {
    ...ordinary,
    access: { credential: 'public' },
    writes: false,
    url: '/open',
    answer: Type.String(),
    summary: '',
    tag: '',
    run: () => ok('x'),
  } as const
  for (const name of ['access', 'cache', 'bodyLimit', 'writes'] as const) {
    for (const method of ['GET', 'POST'] as const) {
      const { [name]: _, ...rest } = whole
      const mounted = demo({
        routes: [(app) => route(app, { method, ...rest } as unknown as RouteOptions<undefined, undefined, TSchema>)],
      })
      if (method === 'GET' && name === 'writes') await (await mounted).app.close()
      else await t.rejects(mounted, new RegExp(`route ${method} /open does not state its ${name}$`))
    }
  }
  for (const right of [undefined, 'flag', '*', 'constructor']) {
    const access = { credential: 'required', namespace: 'none', right } as const
    const mounted = demo({
      routes: [
        (app) =>
          route(app, { ...whole, method: 'GET', access } as unknown as RouteOptions<undefined, undefined, TSchema>),
      ],
    })
    await t.rejects(mounted, /route GET \/open does not state its right$/, `right: ${right}`)
  }
})

void t.test('a route that lets the framework check its fields is refused', async (t) => {
  const whole = { method: 'GET', url: '/open', config: { spec: {} }, handler: () => ({}) } as const
  for (const schema of [{ querystring: { a: { type: 'string' } } }, { response: { 200: { type: 'object' } } }])
    await t.rejects(
      demo({ routes: [(app) => app.route({ ...whole, schema } as never)] }),
      /must not contain a schema of Fastify/,
    )
})

void t.test('CORS origins are allowed, and only exact ones may send credentials', async (t) => {
  const own = await demo({
    config: { ...settings, cors: { origins: ['https://a.example', '*'], headers: ['Authorization', 'If-Match'] } },
  })
  t.teardown(() => own.app.close())
  const asked = (origin: string) => `${H}Origin: ${origin}\r\nAccess-Control-Request-Method: PUT\r\n`
  const preflight = await exchange(
    own.port,
    `OPTIONS /api/v1/namespaces/a HTTP/1.1\r\n${asked('https://a.example')}\r\n`,
  )
  t.equal(preflight.status, 204)
  const { headers } = preflight
  t.equal(headers.get('access-control-allow-origin'), 'https://a.example')
  t.equal(headers.get('access-control-allow-credentials'), 'true')
  t.equal(headers.get('access-control-allow-methods'), 'GET, POST, PUT, DELETE, OPTIONS, HEAD')
  t.equal(headers.get('access-control-max-age'), '300')
  t.ok(headers.get('x-request-id'))
  const other = await exchange(own.port, get('/api/v1/namespaces', `${H}Origin: https://b.example\r\n`))
  t.equal(other.status, 401)
  t.equal(other.headers.get('access-control-allow-origin'), '*')
  t.equal(other.headers.get('access-control-allow-credentials'), undefined)
  t.equal(
    other.headers.get('access-control-expose-headers'),
    'ETag, Event-Position, Idempotency-Replayed, x-request-id, Retry-After, As-Of-Position, As-Of-Time, History-Range, History-Origin, History-Through, Link',
  )
  t.equal((await exchange(own.port, `OPTIONS /livez HTTP/1.1\r\n${H}\r\n`)).status, 405, 'not a preflight')
  const strict = await demo({ config: { ...settings, cors: { origins: ['https://a.example'], headers: [] } } })
  t.teardown(() => strict.app.close())
  const refused = await exchange(strict.port, `OPTIONS /livez HTTP/1.1\r\n${asked('https://b.example')}\r\n`)
  t.same([refused.status, refused.headers.get('access-control-allow-origin')], [405, undefined])
})

void t.test('CORS allows every header name that the service reads', async (t) => {
  const allowedOf = async (headers: readonly string[], asked: string, origin = 'https://a.example') => {
    const { app, port } = await demo({
      config: { ...settings, cors: { origins: ['https://a.example', '*'], headers } },
    })
    t.teardown(() => app.close())
    const sent = `${H}Origin: ${origin}\r\nAccess-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: ${asked}\r\n`
    return (await exchange(port, `OPTIONS /livez HTTP/1.1\r\n${sent}\r\n`)).headers.get('access-control-allow-headers')
  }
  const own = ['Authorization', 'X-Demo-Namespace', 'x-demo-accept-server-version', 'x-demo-environment']
  const all = own.join(', ')
  for (const origin of ['https://a.example', 'https://b.example']) {
    t.equal(
      await allowedOf(own, 'x-acme-accept-server-version, X-Acme-Environment,x-acme-namespace', origin),
      `${all}, x-acme-accept-server-version, x-acme-environment, x-acme-namespace`,
    )
    for (const asked of [
      'authorization',
      'x-acme-secret',
      'x--namespace',
      'x-a-b-namespace',
      'acme-namespace',
      'x-9-namespace',
      ',',
    ])
      t.equal(await allowedOf(own, asked, origin), all, asked)
  }
  t.equal(
    await allowedOf(['Authorization', 'x-demo-environment'], 'x-acme-namespace'),
    'Authorization, x-demo-environment',
  )
  t.equal(await allowedOf(['Authorization'], 'x-acme-environment'), 'Authorization')
})

void t.test('OPTIONS never gets a server error', async (t) => {
  const own = await demo({ config: { ...settings, cors: { origins: ['https://a.example'], headers: [] } } })
  t.teardown(() => own.app.close())
  const bodies = ['', '{}', '{"a":', 'x', '\0\xff']
  const types = [
    '',
    'application/json',
    'text/plain',
    'multipart/form-data; boundary=x',
    'nonsense',
    'application/json; charset=koi8-r',
  ]
  const preflight = 'Origin: https://a.example\r\nAccess-Control-Request-Method: PUT\r\n'
  let asked = 0
  for (const path of ['/livez', '/api/v1/namespaces/a', '/nothing']) {
    for (const [origin, status] of [
      [preflight, 204] as const,
      [preflight.replace('a.', 'b.'), 405] as const,
      ['', 405] as const,
    ]) {
      for (const type of types) {
        for (const body of bodies) {
          const framings = [`Content-Length: ${body.length}\r\n\r\n${body}`]
          if (body !== '')
            framings.push(`Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`)
          for (const framed of framings) {
            const sent = `OPTIONS ${path} HTTP/1.1\r\n${H}${origin}${type && `Content-Type: ${type}\r\n`}${framed}`
            const answer = await exchange(own.port, sent)
            const due = status === 405 && path === '/nothing' ? 404 : status
            if (answer.status !== due)
              t.fail(`${path} ${origin} ${type} ${JSON.stringify(body)}: ${answer.status}, not ${due}`)
            asked++
          }
        }
      }
    }
  }
  t.equal(asked, 3 * 3 * 6 * 9)
  t.same(own.log, [])
})

void t.test('browsers get the page of the web UI at all addresses outside the API', async (t) => {
  const own = await demo({ page: (_request, reply) => void reply.headers(pageHeaders).send('<!doctype html>') })
  t.teardown(() => own.app.close())
  const browser = `${H}Accept: text/html,*/*\r\n`
  const page = await exchange(own.port, get('/login', browser))
  t.same([page.status, page.body], [200, '<!doctype html>'])
  t.match(page.headers.get('content-security-policy'), /frame-ancestors 'none'/)
  t.equal((await exchange(own.port, get('/login', H))).status, 404)
  for (const path of ['/api/nothing', '/api', '/auth/v1', '/docs/x', '/livez/x?y', '/metrics'])
    t.equal((await exchange(own.port, get(path, browser))).status, 404, path)
  t.equal((await exchange(own.port, get('/apis', browser))).status, 200)
  t.equal((await exchange(own.port, get('/a%2Fb', browser))).status, 400)
})

void t.test('a stop finishes running requests and accepts no more', async (t) => {
  const clock = virtualClock()
  const own = await demo({ clock })
  const idle = connect(own.port, '127.0.0.1')
  await new Promise((resolve) => idle.once('connect', resolve))
  const arrived = once(own.app.server, 'request')
  const running = fetch(`${own.url}/meta/slow`)
  await arrived
  let stopped = false
  const stopping = shutDown(own.app, 60_000).then((cut) => {
    stopped = true
    return cut
  })
  await clock.advance(SLOW_MS)
  t.same(await (await running).json(), { done: true })
  await eventually(() => own.app.sockets.size === 1, 'the end of the connection that was answered')
  await clock.advance(999 - SLOW_MS)
  t.equal(stopped, false, 'a connection may bring a request for a second')
  await clock.advance(1)
  t.equal(await stopping, 0, 'nothing was cut, and idle connections do not hold it up')
  await t.rejects(fetch(`${own.url}/livez`))
  idle.destroy()
})

void t.test('the OpenAPI document describes each route, and its page needs no script', async (t) => {
  type Documented = {
    openapi: string
    paths: Record<
      string,
      Record<
        string,
        { security: object[]; parameters: { name: string; in: string }[]; responses: object; requestBody?: object }
      >
    >
  }
  const document = JSON.parse((await ask(get('/openapi.json', H))).body) as Documented
  t.equal(document.openapi, '3.1.0')
  const create = document.paths['/api/v1/namespaces/{namespaceKey}/flags']?.['post']
  t.match(create?.requestBody, {
    content: {
      'application/json': { schema: { required: ['key', 'name'], properties: { key: { maxLength: 255 } } } },
    },
  })
  t.same(
    create?.parameters.filter((parameter) => parameter.in !== 'query').map(({ name }) => name),
    ['namespaceKey', 'Idempotency-Key', 'If-Match', 'Event-Reason'],
  )
  t.same(Object.keys(create?.responses ?? {}), ['200', '400', '401', '403', '409', '413', '415', '503'])
  t.same(document.paths['/livez']?.['get']?.security, [])
  t.ok(document.paths['/openapi.json'])
  const ids = Object.values(document.paths).flatMap((verbs) =>
    Object.values(verbs).map((operation) => (operation as unknown as { operationId: string }).operationId),
  )
  t.equal(new Set(ids).size, ids.length, 'operation ids are unique')
  const page = await ask(get('/docs', H))
  t.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
  t.ok(page.body.includes('/api/v1/namespaces/{namespaceKey}/flags'))
  t.notMatch(page.body, /<script|https?:\/\/|src=/)
})

void t.test('a request with several errors gets the first refusal in the order of checks', async (t) => {
  const { app, port } = await demo()
  t.teardown(() => app.close())
  /** Faults of one request in the order of api.md §1.3, each with its answer. */
  const faults = [
    ['host', [400, 'invalid_header']],
    ['credential', [401, 'credential_missing']],
    ['reach', [403, 'token_scoped']],
    ['body', [400, 'malformed_body']],
    ['query', [400, 'invalid_argument', 'limit']],
    ['replay', [200]],
    ['fields', [400, 'invalid_argument', 'key']],
    ['none', [200]],
  ] as const
  for (const [n, [fault, answer]] of faults.entries()) {
    const left = new Set<string>(faults.slice(n).map(([name]) => name))
    const body = left.has('body') ? '{"key":' : JSON.stringify({ key: left.has('fields') ? '' : 'a', name: 'n' })
    const reply = await exchange(
      port,
      [
        `POST /api/v1/namespaces/${left.has('reach') ? 'b' : 'a'}/flags?limit=${left.has('query') ? 'x' : '1'} HTTP/1.1`,
        'Host: x',
        ...(left.has('host') ? ['Host: y'] : []),
        ...(left.has('credential') ? [] : ['Authorization: Bearer bound']),
        ...(left.has('replay') ? ['X-Replay: yes'] : []),
        `Content-Length: ${body.length}`,
        '',
        body,
      ].join('\r\n'),
    )
    const { reason, fieldViolations } = reply.status === 200 ? {} : problemOf(reply)
    const violations = fieldViolations as readonly { readonly field: string }[] | undefined
    t.same(
      [reply.status, reason, violations?.[0]?.field].filter((part) => part !== undefined),
      answer,
      fault,
    )
  }
})

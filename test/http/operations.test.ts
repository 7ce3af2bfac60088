import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { get, type IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { resolve } from 'node:path'
import { connect } from 'node:tls'
import t from 'tap'
import { metricsOf, metricsPage } from '../../src/http/metrics/metrics.ts'
import { metricsRoutes } from '../../src/http/routes/metrics.ts'
import { freePort } from '../free-port.ts'
import { PAGE_MS, startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { demo } from './demo.ts'
import { maker } from './flags.ts'
import { httpsSettings } from './https.ts'
import { type Issued, open } from './people.ts'

type Check = { readonly name: string; readonly status: string }

/** Metrics of api.md §11.1: kind and labels by name. */
const metrics = new Map(
  [
    ...(await readFile(resolve(import.meta.dirname, '../../../docs/api-metrics.md'), 'utf8')).matchAll(
      /^\| `rollcall_(\w+)` \| (\w+) \| ([^|]*) \|/gm,
    ),
  ].map(([, name = '', kind = '', cell = '']) => {
    const labels = [...cell.matchAll(/`(\w+)`/g)].map(([, label]) => label)
    return [name, { kind, labels }]
  }),
)

await t.test('every metric of the contract is exported with its prefix, kind and labels', async (t) => {
  for (const [word, prefix] of Object.entries({ service: 'rollcall_', acme: 'acme_' })) {
    const service = await startService(t, { 'identifiers.service': word, 'metrics.flag_labels': 'true' })
    await service.request('POST', '/api/v1/flags', { key: 'f', name: 'f', type: 'BOOLEAN_FLAG_TYPE' })
    await service.request('POST', '/evaluate/v1/boolean', { flagKey: 'f', entityId: 'an-entity' })
    await service.request('POST', '/evaluate/v1/variant', { flagKey: 'f', entityId: 'an-entity' })
    await service.request('GET', '/auth/v1/tokens', undefined, { authorization: 'Bearer no' })
    const { text, headers } = await service.request('GET', '/metrics', undefined, open)
    t.equal(headers['content-type'], 'text/plain; version=0.0.4')
    const kinds = [...text.matchAll(/^# TYPE (\S+) (\w+)/gm)].map(([, name, kind]) => `${name} ${kind}`)
    t.strictSame(kinds.toSorted(), [...metrics].map(([name, { kind }]) => `${prefix}${name} ${kind}`).toSorted())
    for (const [, name = '', labels = ''] of text.matchAll(/^(\w+?)(?:_bucket|_sum|_count)?(?:\{(.*)\})? /gm)) {
      const given = [...labels.matchAll(/(\w+)="/g)].flatMap(([, label]) => (label === 'le' ? [] : label))
      t.strictSame(given, metrics.get(name.slice(prefix.length))?.labels, name)
    }
    t.ok(text.includes(`${prefix}auth_decisions_total{result="refused",reason="credential_invalid"`))
    t.notMatch(text, /an-entity|the-bootstrap-token/)
  }
})

await t.test('metrics contain names given by users only if configured', async (t) => {
  const service = await startService(t)
  const make = maker(service)
  await service.request('POST', '/api/v1/namespaces', { key: 'given-space', name: 'Given' })
  await make.segment('given-segment')
  await make.variantFlag('given-flag')
  const variant = await make.variant('given-flag', 'given-variant')
  await make.rule('given-flag', { segmentKeys: ['given-segment'] }, { [variant]: 100 })
  for (const entityId of ['a', 'b']) {
    const { json } = await service.request('POST', '/evaluate/v1/variant', { flagKey: 'given-flag', entityId })
    t.match(json, { match: true, variantKey: 'given-variant' })
  }
  await service.request('POST', '/evaluate/v1/boolean', { flagKey: 'given-flag', entityId: 'a' })
  await service.request('POST', '/evaluate/v1/boolean', { flagKey: 'none', entityId: 'a' })
  const text = await service.metrics()
  t.notMatch(text, /given-/)
  t.match(text, /^rollcall_evaluations_requests_total 4$/m)
  t.match(text, /^rollcall_evaluations_errors_total 2$/m)
  t.match(
    text,
    /^rollcall_evaluations_results_total\{type="variant",match="true",reason="MATCH_EVALUATION_REASON"\} 2$/m,
  )
  t.match(text, /^rollcall_evaluations_latency_milliseconds_count 2$/m)
})

await t.test('a metrics page is created once a second for all readers', async (t) => {
  const clock = virtualClock()
  const page = metricsPage('m_')
  let made = 0
  page.gauge('made', 'Pages.', [], () => [{ labels: [], value: ++made }])
  const { app, url } = await demo({
    clock,
    routes: [(app) => metricsRoutes(app, { metrics: metricsOf(page, { flagLabels: false }), clock })],
  })
  t.teardown(() => app.close())
  const ask = async (encoding = 'identity') => {
    const answer = await fetch(`${url}/metrics`, { headers: { 'accept-encoding': encoding } })
    t.match(
      [answer.status, answer.headers.get('vary'), answer.headers.get('content-type')],
      [200, 'accept-encoding', 'text/plain; version=0.0.4'],
    )
    return answer.text()
  }
  const pages = new Set<string>()
  for (let n = 0; n < 10; n++) {
    if (n === 9) await clock.advance(999)
    for (const text of await Promise.all([ask(), ask('gzip')])) pages.add(text)
  }
  t.strictSame([pages.size, made], [1, 1], 'the same page, in gzip too')
  const head = await fetch(`${url}/metrics`, { method: 'HEAD' })
  t.match([head.status, await head.text(), made], [200, '', 1])
  await clock.advance(1)
  for (const text of await Promise.all([ask(), ask('gzip')])) pages.add(text)
  t.strictSame([pages.size, made], [2, 2])
})

await t.test('a client that requests the metrics page and does not read it blocks it for ten seconds', async (t) => {
  const clock = virtualClock()
  const metrics = metricsOf(metricsPage('m_'), { flagLabels: true })
  for (let n = 0; n < 10_000; n++) metrics.evaluationLatency('n'.repeat(255), `flag-${n}`).observe(1)
  const told: number[] = []
  const { app, url } = await demo({
    clock,
    answered: (_, { statusCode }) => void told.push(statusCode),
    routes: [(app) => metricsRoutes(app, { metrics, clock })],
  })
  t.teardown(() => app.close())
  const [slow] = (await once(get(`${url}/metrics`, { agent: false }), 'response')) as [IncomingMessage]
  slow.on('error', () => undefined)
  t.teardown(() => slow.destroy())
  await clock.advance(9_999)
  t.strictSame([app.sockets.size, told], [1, []])
  await clock.advance(1)
  await eventually(() => app.sockets.size === 0, 'the end of the connection')
  t.strictSame(told, [200])
})

await t.test('tokens are counted by method and status, also after a restart', async (t) => {
  const clock = virtualClock(new Date().toISOString())
  const service = await startService(t, {}, { clock })
  const expires = clock.now().getTime() + 60_000
  const expiresAt = new Date(expires).toISOString()
  const create = async (body: object) =>
    (await service.request<Issued>('POST', '/auth/v1/method/token', body)).json.authentication.id
  const later = new Date(expires + 1).toISOString()
  const [, , gone] = [
    await create({ name: 'a', expiresAt }),
    await create({ name: 'c', expiresAt: later }),
    await create({ name: 'b' }),
  ]
  await service.request('DELETE', `/auth/v1/tokens/${gone}`)
  const all = async () => {
    const text = await service.metrics()
    const counted = (status: string) =>
      Number(new RegExp(`^rollcall_tokens\\{method="token",status="${status}"\\} (\\d+)$`, 'm').exec(text)?.[1])
    return ['ACTIVE', 'EXPIRED', 'DELETED'].map(counted)
  }
  t.strictSame(await all(), [3, 0, 1])
  await clock.advance(expires - clock.now().getTime() - PAGE_MS)
  t.strictSame(await all(), [2, 1, 1], 'expired at the instant, and not one millisecond before')
  await service.reopen()
  t.strictSame(await all(), [1, 2, 1])
  const { text } = await service.request('GET', '/metrics')
  t.match(text, /^rollcall_projection_position\{name="tokens"\} [1-9]/m)
  t.match(text, /^rollcall_projection_lag_events\{name="tokens"\} 0$/m)
})

await t.test('the last run of each job and the lease for writing read models are exported', async (t) => {
  const clock = virtualClock()
  const before = clock.now().getTime()
  const settings = { 'authentication.methods.token.cleanup.interval': '90m' }
  const service = await startService(t, settings, { clock })
  const ended = /^rollcall_job_last_outcome\{name="cleanup-token",outcome="ok"\} 1$/m
  const ageOf = (page: string) => Number(/^rollcall_freshness_age_seconds (\S+)$/m.exec(page)?.[1])
  const page = await eventually(async () => {
    const text = await service.metrics()
    return ended.test(text) && ageOf(text) < 2 ? text : undefined
  }, 'the end of a job and a proof of the head')
  const seconds = (clock.now().getTime() - before) / 1000
  t.match(page, /^rollcall_job_last_outcome\{name="cleanup-token",outcome="failed"\} 0$/m)
  t.match(page, /^rollcall_job_interval_seconds\{name="cleanup-token"\} 5400$/m)
  t.match(page, /^rollcall_job_last_items\{name="cleanup-token",of="done"\} 0$/m)
  t.notMatch(page, /of="total"/, 'it counts nothing beforehand')
  const value = (name: string) =>
    Number(new RegExp(`^rollcall_${name}(?:\\{name="cleanup-token"\\})? (\\S+)$`, 'm').exec(page)?.[1])
  const began = value('job_last_start_timestamp_seconds') - before / 1000
  const lasted = value('job_last_duration_seconds')
  t.ok(began >= 0 && lasted >= 0 && began + lasted <= seconds, 'it ran since the service was started')
  t.equal(value('view_lease_held'), 1)
  t.ok(value('view_lag_events') >= 0)
  t.ok(ageOf(page) >= 0)
  t.match(page, /^rollcall_store_calls_total\{port="queue",adapter="\w+",operation="run",outcome="ok"\} [1-9]/m)
})

await t.test('an evaluation with a credential calls no store', async (t) => {
  const time = new Date()
  const service = await startService(t, {}, { now: () => time })
  await service.request('POST', '/api/v1/flags', { key: 'f', name: 'f', type: 'BOOLEAN_FLAG_TYPE' })
  /** Store calls, except those of the metrics page, the proof of the head and the jobs. */
  const calls = async () => {
    const text = await service.metrics()
    return [
      ...text.matchAll(
        /^rollcall_store_calls_total\{(?=[^}]*operation="(?:append|read|get|list|record|swapRecord)").* \d+$/gm,
      ),
    ].map(String)
  }
  const ask = () => service.request('POST', '/evaluate/v1/boolean', { flagKey: 'f', entityId: 'e' })
  await ask()
  // The next flush writes the use of the token, and nothing else is due within that hour.
  const written = /operation="swapRecord",outcome="ok"\} [1-9]/
  const before = await eventually(async () => {
    const made = await calls()
    return made.some((line) => written.test(line)) && made
  }, 'the use of the token to be written')
  for (let n = 0; n < 20; n++) t.equal((await ask()).status, 200)
  t.same(await calls(), before)
})

await t.test('the OpenAPI document and the cookies use the configured names', async (t) => {
  const service = await startService(t, { 'identifiers.service': 'acme' })
  const { json } = await service.request<{ components: { securitySchemes: { cookie: { name: string } } } }>(
    'GET',
    '/openapi.json',
  )
  const { name } = json.components.securitySchemes.cookie
  t.equal(name, 'acme_client_token')
  const self = (cookie: string) =>
    service.request('GET', '/auth/v1/self', undefined, { ...open, cookie: `${cookie}=${service.token}` })
  t.equal((await self(name)).status, 200)
  t.equal((await self('service_client_token')).status, 401)
})

await t.test('the route for public facts returns exactly the documented facts', async (t) => {
  const base = 'authentication.methods'
  const service = await startService(t, {
    'storage.type': 'embedded',
    'server.public_url': 'https://flags.example.com/base',
    [`${base}.codehost.enabled`]: 'true',
    [`${base}.codehost.client_id`]: 'the-client',
    [`${base}.codehost.client_secret`]: 'hunter2',
    'redis.url': 'redis://user:hunter2@127.0.0.1:1',
  })
  const { json: config, text } = await service.request('GET', '/meta/config')
  t.notMatch(text, /hunter2|the-bootstrap-token/)
  t.match(config, {
    authentication: { methods: { codehost: { client_id: 'the-client' }, token: { bootstrap: {} } } },
    redis: {},
  })
  t.notOk(
    'client_secret' in
      (config as { authentication: { methods: { codehost: object } } }).authentication.methods.codehost,
  )
  const { json: info } = await service.request('GET', '/meta/info')
  t.match(info, {
    version: /^\d/,
    latestVersion: String(info['version']),
    updateAvailable: false,
    nodeVersion: process.version,
    authentication: { required: true },
    storage: { type: 'embedded', readOnly: false },
    analytics: { enabled: false },
    ui: { theme: 'system', topbarColor: '' },
  })
  t.equal((await service.request('GET', '/meta/info', undefined, open)).status, 401)
})

await t.test('health checks are answered, also under an unknown host name', async (t) => {
  const { request } = await startService(t, { 'metrics.enabled': 'false', 'server.keep_alive_timeout': '11m' })
  t.match(await request('GET', '/livez', undefined, open), { status: 200, json: { status: 'ok' } })
  t.strictSame((await request('GET', '/readyz', undefined, open)).json, { status: 'ready' })
  // Until the ledger has compared the log, its check is degraded.
  await eventually(async () => {
    const { json } = await request<{ checks: readonly Check[] }>('GET', '/readyz?verbose', undefined, open)
    return json.checks.length > 0 && json.checks.every(({ name, status }) => /\w/.test(name) && status === 'ok')
  }, 'all checks are ok')
  for (const query of ['', '?service='])
    t.strictSame((await request('GET', `/health${query}`, undefined, open)).json, { status: 'SERVING' })
  t.match(await request('GET', '/health?service=other', undefined, open), { status: 404, json: { code: 5 } })
  t.equal((await request('GET', '/metrics', undefined, open)).status, 404)
  const { headers } = await request('GET', '/livez')
  t.equal(headers['keep-alive'], 'timeout=660', 'the idle time of a connection is the configured one')
})

await t.test('a separate listener for metrics serves nothing else', async (t) => {
  const port = await freePort()
  const service = await startService(t, {
    'metrics.address': `127.0.0.1:${port}`,
    'cors.enabled': 'true',
    'cors.allowed_origins': '*',
  })
  t.equal((await service.request('GET', '/metrics')).status, 404)
  t.notMatch((await service.request('GET', '/openapi.json')).text, '"/metrics"')
  const ask = async (path: string, method = 'GET') => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method })
    const text = await answer.text()
    return { status: answer.status, allow: answer.headers.get('allow'), text }
  }
  t.match(await ask('/metrics'), { status: 200, text: /^rollcall_tokens\{/m })
  t.match(await ask('/metrics', 'HEAD'), { status: 200, text: '' })
  t.match(await ask('/metrics', 'POST'), { status: 405, allow: 'GET, HEAD', text: /method_not_allowed/ })
  t.match(await ask('/metrics', 'OPTIONS'), { status: 405 })
  for (const path of ['/', '/livez', '/readyz', '/openapi.json', '/docs', '/auth/v1/self', '/metrics/x'])
    t.match(await ask(path), { status: 404, text: /route_not_found/ }, path)
  await service.close()
  await t.rejects(ask('/metrics'))
})

await t.test('the service uses HTTPS with the configured certificate and TLS 1.2 or newer', async (t) => {
  const settings = await httpsSettings(t)
  const ca = await readFile(settings['server.cert_file'])
  const service = await startService(t, settings)
  t.match(service.url, /^https:/)
  const status = await new Promise((answered, failed) => {
    const asked = request(`${service.url}/readyz`, { ca, servername: 'localhost', agent: false }, ({ statusCode }) =>
      answered(statusCode),
    )
    asked.once('error', failed).end()
  })
  t.equal(status, 200)
  const { port } = new URL(service.url)
  const refused = await new Promise<Error>((failed) => {
    const old = {
      port: Number(port),
      host: '127.0.0.1',
      maxVersion: 'TLSv1.1',
      minVersion: 'TLSv1',
      ciphers: 'ALL@SECLEVEL=0',
    } as const
    connect({ ...old, rejectUnauthorized: false }, () => failed(new Error('connected'))).once('error', failed)
  })
  t.match(refused.message, /protocol version|unsupported protocol/)
})

import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { lyingClient, lyingProvider } from '../auth/stand-ins/liar.ts'
import { onCluster } from '../cluster/own.ts'
import { collector, type ReceivedSpan } from '../stand-ins/otlp.ts'
import { type Started, startService } from '../start.ts'
import { eventually } from '../wait.ts'
import * as people from './people.ts'

/** Standard variables that the SDK reads. Batches are sent after the delay (ms). */
const VARIABLES = {
  OTEL_BSP_SCHEDULE_DELAY: '20',
  OTEL_SERVICE_NAME: 'flags-of-the-test',
  OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
  OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=shop',
}
Object.assign(process.env, VARIABLES)
t.teardown(() => {
  for (const name of Object.keys(VARIABLES)) delete process.env[name]
})

const N = '/api/v1/namespaces/default'
const parentOf = () => ({ traceId: randomBytes(16).toString('hex'), spanId: randomBytes(8).toString('hex') })
type Parent = ReturnType<typeof parentOf>
const headersOf = ({ traceId, spanId }: Parent) => ({
  traceparent: `00-${traceId}-${spanId}-01`,
  tracestate: 'vendor=1',
})

type Record = Readonly<{ msg: string; level: string; traceId?: string; route?: string; why?: string }>
const linesOf = async ({ directory }: Pick<Started, 'directory'>): Promise<Record[]> =>
  (await readFile(join(directory, 'log'), 'utf8'))
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record)

type Events = {
  readonly events: readonly { readonly traceId?: string; readonly meta: { readonly traceId?: string } }[]
}
const eventsOf = async ({ request }: Pick<Started, 'request'>, requestId: string) =>
  (await request<Events>('GET', `/audit/v1/events?requestId=${requestId}`)).json.events

const provider = await lyingProvider(t)
provider.lies = { claims: { email: 'canary@example.com', name: 'Canary Name' } }
const received = await collector(t)
const service = await startService(t, {
  'tracing.otlp_endpoint': received.url,
  'server.public_url': people.PUBLIC,
  ...people.oidcSettings('main', provider.url, lyingClient),
})

/** Spans of a trace, once the spans of its requests have arrived. */
const trace = (id: string, requests = 1): Promise<readonly ReceivedSpan[]> =>
  eventually(async () => {
    const spans = received.spans.filter(({ traceId }) => traceId === id)
    return spans.filter(({ kind }) => kind === 2).length >= requests && spans
  }, `the spans of trace ${id}`)

/** Names from the span of the request down to a span. */
const wayTo = (spans: readonly ReceivedSpan[], name: string): readonly string[] => {
  const way: string[] = []
  for (let at = spans.find((span) => span.name === name); at; at = spans.find(({ id }) => id === at?.parent))
    way.unshift(at.name)
  return way
}

await t.test('one trace leads from a request through its command to the append', async (t) => {
  const parent = parentOf()
  const body = { key: 'traced', name: 'Traced', type: 'BOOLEAN_FLAG_TYPE', enabled: true }
  const headers = { ...headersOf(parent), 'x-request-id': 'traced-request' }
  t.equal((await service.request('POST', `${N}/flags`, body, headers)).status, 200)
  const spans = await trace(parent.traceId)
  const route = 'POST /api/v1/namespaces/:namespaceKey/flags'
  t.strictSame(wayTo(spans, 'log.append').slice(0, 1), [route])
  t.match(wayTo(spans, 'log.append').join(' > '), /^POST \S+ > command \w+ > log\.append$/)
  const request = spans.find(({ name }) => name === route)!
  t.match(request, { parent: parent.spanId, kind: 2, state: 'vendor=1', failed: false })
  t.match(request.attributes, {
    'http.request.method': 'POST',
    'http.route': '/api/v1/namespaces/:namespaceKey/flags',
    'http.response.status_code': 200,
    'url.scheme': 'http',
    'server.address': '127.0.0.1',
  })
  const append = spans.find(({ name }) => name === 'log.append')!
  t.match(append, { kind: 3, attributes: { 'db.system.name': onCluster ? 'eventstoredb' : 'sqlite' } })
  t.match(received.resource, {
    'service.name': 'flags-of-the-test',
    'deployment.environment.name': 'test',
    'telemetry.sdk.name': 'opentelemetry',
  })
  t.match(received.headers, { path: '/v1/traces', 'x-tenant': 'shop', 'content-type': 'application/x-protobuf' })

  const events = await eventsOf(service, 'traced-request')
  t.ok(events.length > 0)
  for (const event of events)
    t.strictSame([event.traceId, event.meta.traceId], [parent.traceId, parent.traceId], 'the envelope')
  const line = (await linesOf(service)).find(({ route }) => route?.endsWith('/flags'))
  t.equal(line?.traceId, parent.traceId, 'the log line of the request')
  await eventually(
    async () => received.spans.some(({ name, parent }) => name.startsWith('job ') && parent === ''),
    'the trace of a job',
  )
})

await t.test('a wait for a read model and an evaluation are part of the trace', async (t) => {
  const { request } = service
  await request('POST', `${N}/flags`, { key: 'on', name: 'On', type: 'BOOLEAN_FLAG_TYPE', enabled: true })
  const variant = { key: 'v', name: 'V', type: 'VARIANT_FLAG_TYPE', enabled: true }
  const { headers } = await request('POST', `${N}/flags`, variant)
  const parent = parentOf()
  const evaluation = {
    namespaceKey: 'default',
    flagKey: 'on',
    entityId: 'canary-entity',
    context: { plan: 'canary-plan' },
  }
  const after = { ...headersOf(parent), 'after-position': String(headers['event-position']) }
  t.equal((await request('POST', '/evaluate/v1/boolean', evaluation, after)).status, 200)
  await request('POST', '/evaluate/v1/variant', { ...evaluation, flagKey: 'v' }, headersOf(parent))
  await request('POST', '/evaluate/v1/boolean', { ...evaluation, flagKey: 'no' }, headersOf(parent))
  const spans = await trace(parent.traceId, 3)
  t.ok(spans.some(({ name }) => name === 'wait for a read model'))
  const events = spans.flatMap((span) => span.events)
  const common = { 'feature_flag.set.id': 'default', 'feature_flag.provider.name': 'rollcall' }
  t.match(events, [{ name: 'feature_flag.evaluation' }, { name: 'feature_flag.evaluation' }])
  t.same(
    events
      .map(({ attributes }) => attributes)
      .toSorted((a, b) => (String(a['feature_flag.key']) < String(b['feature_flag.key']) ? -1 : 1)),
    [
      {
        ...common,
        'feature_flag.key': 'on',
        'feature_flag.result.reason': 'default',
        'feature_flag.result.value': true,
      },
      { ...common, 'feature_flag.key': 'v', 'feature_flag.result.reason': 'unknown' },
    ],
  )
  t.match(
    spans.find(({ attributes }) => attributes['http.response.status_code'] === 404),
    { failed: false, attributes: { 'rollcall.refusal': 'not_found' } },
  )
})

await t.test('a login carries the trace to its provider, and no span holds a secret', async (t) => {
  const parent = parentOf()
  const { authorizeUrl, cookie } = await people.begin(service, people.OIDC)
  const query = await people.visit(authorizeUrl)
  const headers = { ...headersOf(parent), 'user-agent': 'canary-agent', accept: 'application/json', cookie }
  const answer = await people.comeBack(service, people.OIDC, query, headers)
  t.equal(answer.status, 200)
  const token = people.cookiesOf(answer)['service_client_token']!.value
  const own = parent.traceId
  const carried = provider.traceparents.filter((each) => each?.includes(own))
  t.ok(carried.length > 0, 'the provider received the trace')
  t.notMatch(carried.join(), parent.spanId, 'of a span of the service')
  const spans = await trace(own)
  t.match(
    spans.find(({ name, kind }) => name === 'POST' && kind === 3),
    { attributes: { 'server.address': '127.0.0.1', 'http.response.status_code': 200 } },
  )
  await service.request('GET', '/auth/v1/self?canary-query=1', undefined, {
    ...headersOf(parent),
    authorization: `Bearer ${token}`,
  })
  await service.request('GET', '/canary-path/x', undefined, headersOf(parent))
  await trace(own, 3)
  const all = JSON.stringify(received.spans)
  const state = query.get('state')!
  for (const secret of [
    'canary',
    state,
    token,
    cookie.slice(cookie.indexOf('=') + 1),
    lyingClient.clientSecret,
    'alice',
  ])
    t.notOk(all.includes(secret), `no span holds ${secret.slice(0, 12)}`)
})

await t.test('a malformed traceparent begins a new trace', async (t) => {
  const parent = parentOf()
  const wrong = [
    '',
    'x'.repeat(8_192),
    `00-${'0'.repeat(32)}-${parent.spanId}-01`,
    `ff-${parent.traceId}-${parent.spanId}-01`,
    `00-${parent.traceId}-${parent.spanId}-01-more`,
    `00-${parent.traceId.toUpperCase()}-${parent.spanId}-01`,
    `${headersOf(parent).traceparent}, ${headersOf(parent).traceparent}`,
  ]
  for (const traceparent of wrong) {
    const headers = { traceparent, tracestate: 'y'.repeat(8_192) }
    t.equal((await service.request('GET', `${N}/flags`, undefined, headers)).status, 200)
  }
  const spans = () => received.spans.filter(({ name }) => name === 'GET /api/v1/namespaces/:namespaceKey/flags')
  await eventually(async () => spans().length === wrong.length, 'the spans of all requests')
  t.ok(spans().every((span) => span.parent === '' && span.traceId !== parent.traceId && span.state === ''))
  t.equal(new Set(spans().map(({ traceId }) => traceId)).size, wrong.length)
})

await t.test('a collector that refuses or is silent costs one line, and no request waits', async (t) => {
  const about = async () => (await linesOf(service)).filter(({ msg }) => msg.startsWith('the collector of traces'))
  received.answer = (response) => void response.writeHead(400, 'no thanks').end('canary-answer')
  const next = async () => {
    const before = received.requests
    t.equal((await service.request('GET', `${N}/flags`)).status, 200)
    await eventually(async () => received.requests > before, 'the next batch')
  }
  await next()
  await eventually(async () => (await about()).length === 1, 'the warning')
  await next()
  const works = (response: ServerResponse) => void response.writeHead(200).end()
  received.answer = works
  await next()
  await eventually(async () => (await about()).length === 2, 'the end of the spell')
  // Partial success: one span is rejected, with a message.
  const partial = Buffer.from('\x0a\x0e\x08\x01\x12\x0aqueue full', 'latin1')
  received.answer = (response) => void response.writeHead(200).end(partial)
  await next()
  await eventually(async () => (await about()).length === 3, 'the warning of rejected spans')
  received.answer = works
  await next()
  await eventually(async () => (await about()).length === 4, 'the end of the second spell')
  t.match(await about(), [
    { level: 'WARN', why: '400 no thanks' },
    { level: 'INFO', msg: /works again/ },
    { level: 'WARN', spans: 1, why: 'queue full' },
    { level: 'INFO', msg: /works again/ },
  ])
  const page = (await service.request('GET', '/metrics')).text
  t.match(page, /trace_spans_total\{outcome="failed"\} [1-9]/)
  t.match(page, /trace_spans_total\{outcome="sent"\} [1-9]/)
  received.answer = () => undefined
  await next()
  t.equal((await service.request('GET', `${N}/flags`)).status, 200)
  await service.close()
  t.pass('the stop does not wait for the collector')
})

await t.test('without a collector, a valid traceparent stands in log and envelope', async (t) => {
  const service = await startService(t)
  const parent = parentOf()
  const body = { key: 'off', name: 'Off', type: 'BOOLEAN_FLAG_TYPE' }
  const headers = { ...headersOf(parent), 'x-request-id': 'off-request' }
  t.equal((await service.request('POST', `${N}/flags`, body, headers)).status, 200)
  t.equal((await eventsOf(service, 'off-request'))[0]?.meta.traceId, parent.traceId)
  t.equal((await linesOf(service)).find(({ route }) => route?.endsWith('/flags'))?.traceId, parent.traceId)
  await service.request('POST', `${N}/flags`, { ...body, key: 'wrong' }, { traceparent: 'no', 'x-request-id': 'wrong' })
  t.equal((await eventsOf(service, 'wrong'))[0]?.meta.traceId, undefined)
})

await t.test('without a collector no package of OpenTelemetry is loaded', async (t) => {
  const program = resolve(import.meta.dirname, 'loaded-modules.js')
  const { stdout } = await promisify(execFile)(process.execPath, [program, t.testdir()])
  const [off, on] = JSON.parse(stdout) as readonly [number, number]
  t.equal(off, 0)
  t.ok(on > 50, `${on} modules with a collector`)
})

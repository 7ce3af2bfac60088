import { createHmac, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import t from 'tap'
import { streamTickets } from '../../src/http/streams/tickets.ts'
import { type Started, startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { listening } from './event-source.ts'
import { maker } from './flags.ts'
import type { Issued } from './people.ts'

const BULK = '/ofrep/v1/evaluate/flags'
type Bulk = { readonly eventStreams?: readonly { readonly endpoint: { readonly requestUri: string } }[] }

const announced = async ({ request }: Started, token?: string, namespace = 'default') => {
  const headers = {
    'x-service-namespace': namespace,
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  }
  const { json, headers: answered } = await request<Bulk>('POST', BULK, { context: { targetingKey: 'e' } }, headers)
  return { uri: json.eventStreams?.[0]?.endpoint.requestUri ?? '', etag: answered['etag'] ?? '' }
}
const publishable = async ({ request }: Started) =>
  (await request<Issued>('POST', '/auth/v1/method/token', { name: 'web', namespaceKey: 'default', role: 'client' }))
    .json

const open = async ({ request }: Started, kind = 'events') => {
  const { text } = await request('GET', '/metrics')
  return Number(new RegExp(`^rollcall_streams_open\\{kind="${kind}"\\} (\\d+)$`, 'm').exec(text)?.[1])
}

await t.test('an event stream announces each state of the flags of its namespace', async (t) => {
  const clock = virtualClock()
  const service = await startService(t, {}, { clock })
  const make = maker(service)
  await make.boolean('a')
  const { clientToken } = await publishable(service)
  const { uri } = await announced(service, clientToken)
  t.match(uri, /^\/ofrep\/v1\/events\?namespace=default&ticket=[\w.-]+$/)
  t.equal((await announced(service, clientToken)).uri, uri, 'the address is the same all day')
  const stream = await listening(t, service, uri)
  t.match(stream, { status: 200, type: 'text/event-stream' })
  await eventually(() => stream.events().length === 1, 'the present state')

  await make.boolean('b')
  await make.boolean('c')
  await clock.advance(50)
  await eventually(() => stream.events().length === 2, 'one event for changes within 50 ms')
  await make.segment('s')
  await clock.advance(50)
  await eventually(() => stream.events().length === 3, 'a segment')
  const [, , last] = stream.events()
  t.match(last!.data, { type: 'refetchEvaluation', lastModified: Number })

  const again = await listening(t, service, uri, { 'last-event-id': last!.id })
  const unknown = ['x', '', '-1', '1e3', '0', '999999999', '9'.repeat(30), stream.events()[0]!.id]
  const strange = await Promise.all(unknown.map((id) => listening(t, service, uri, { 'last-event-id': id })))
  await eventually(() => strange.every(({ events }) => events().length > 0), 'unknown ids')
  t.same(
    strange.map(({ events }) => events()),
    unknown.map(() => [last]),
    'one event about the present state',
  )
  t.same(again.events(), [], 'the client has the present state')
  await service.request('POST', '/api/v1/namespaces', { key: 'other', name: 'other' })
  await clock.advance(20_000)
  await eventually(() => again.text().includes(': keep-alive\n\n'), 'a comment')
  t.same(again.events(), [], 'another namespace is of no concern')
  await eventually(async () => (await open(service)) === 10, 'the metric')
  for (const one of [stream, ...strange]) one.end()
  await eventually(
    async () => (await clock.advance(1_000), (await open(service)) === 1),
    'closed streams are not counted',
  )
})

await t.test('a ticket opens the streams of one token and namespace, for two days', async (t) => {
  let days = 0
  const now = () => new Date(Date.UTC(2030, 0, 1 + days, 12))
  const service = await startService(t, {}, { now })
  const { clientToken, authentication } = await publishable(service)
  const { uri, etag } = await announced(service, clientToken)
  const ticket = new URLSearchParams(uri.split('?')[1]).get('ticket')!
  const forged = createHmac('sha256', 'yesterday').update('x').digest('base64url').slice(0, 22)
  const status = async (query: string) => (await listening(t, service, `/ofrep/v1/events?${query}`)).status
  t.equal(await status('namespace=default'), 401)
  t.equal(await status(`namespace=other&ticket=${ticket}`), 401)
  t.equal(await status(`namespace=default&ticket=${ticket.replace(/[^.]+$/, forged)}`), 401)
  t.equal(await status(`namespace=default&ticket=${ticket}&ticket=${ticket}`), 400)
  const { json, text } = await service.request('GET', `/ofrep/v1/events?ticket=${ticket}x`, undefined, {
    authorization: '',
  })
  t.match(json, { errorCode: 'GENERAL' })
  t.notMatch(text, ticket)
  t.equal(
    (await service.request('GET', `/ofrep/v1/configuration?ticket=${ticket}`, undefined, { authorization: '' })).status,
    401,
  )

  days = 1
  t.equal(await status(uri.split('?')[1]!), 200, 'the next day')
  const next = await announced(service, clientToken)
  t.not(next.uri, uri, 'a new ticket')
  t.not(next.etag, etag, 'which a client with the former tag receives')
  days = 2
  t.equal(await status(uri.split('?')[1]!), 401, 'the day after')

  const stream = await listening(t, service, (await announced(service, clientToken)).uri)
  const byHeader = await listening(t, service, '/ofrep/v1/events', { authorization: `Bearer ${clientToken}` })
  t.equal(byHeader.status, 200, 'a client that sends headers needs no ticket')
  await service.request('DELETE', `/auth/v1/tokens/${authentication.id}`)
  await eventually(() => stream.isEnded() && byHeader.isEnded(), 'the token has ended')
  t.equal(await status(next.uri.split('?')[1]!), 401)
})

await t.test('a ticket that is not valid is refused in the form of OFREP, as a failed credential', async (t) => {
  const clock = virtualClock()
  const service = await startService(t, {}, { clock })
  const [valid, ended] = [await publishable(service), await publishable(service)]
  const ticketOf = async (token: string, namespace = 'default') =>
    new URLSearchParams((await announced(service, token, namespace)).uri.split('?')[1]).get('ticket')!
  const [ticket, ticketOfEnded] = [await ticketOf(valid.clientToken), await ticketOf(ended.clientToken)]
  const yesterday = streamTickets(randomBytes(32), clock.now).write(valid.authentication.id, 'default')
  await service.request('POST', '/api/v1/namespaces', { key: 'other', name: 'other' })
  await service.request('DELETE', `/auth/v1/tokens/${ended.authentication.id}`)
  const cases: readonly (readonly [name: string, query: string])[] = [
    ['forged', `namespace=default&ticket=${ticket.slice(0, -1)}${ticket.endsWith('A') ? 'Q' : 'A'}`],
    ['of another namespace', `namespace=other&ticket=${ticket}`],
    ['of an ended token', `namespace=default&ticket=${ticketOfEnded}`],
    ['of another key', `namespace=default&ticket=${yesterday}`],
    ['no ticket', `namespace=default&ticket=${'x'.repeat(1_900)}`],
  ]
  const ask = (query: string) => service.request('GET', `/ofrep/v1/events?${query}`, undefined, { authorization: '' })
  for (let n = 0; n < 300; n++) {
    const [name, query] = cases[n % cases.length]!
    const answer = await ask(query)
    if (n < cases.length || answer.status !== 401)
      t.match(answer, { status: 401, json: { errorCode: 'GENERAL', errorDetails: String } }, name)
  }
  t.match(await ask(cases[0]![1]), { status: 429, json: { errorCode: 'GENERAL' } }, 'the limit of failed credentials')
  const stream = await listening(t, service, `/ofrep/v1/events?namespace=default&ticket=${ticket}`)
  t.equal(stream.status, 200, 'failures of others do not refuse a valid ticket')
  for (const written of [await service.logged(), await service.metrics()])
    for (const secret of [ticket, ticketOfEnded, yesterday]) t.notOk(written.includes(secret), 'no ticket is written')
})

await t.test('the end of the service ends streams before requests that still run', async (t) => {
  const service = await startService(t, { 'server.shutdown_grace': '5m' })
  const stream = await listening(t, service, (await announced(service)).uri)
  const { port } = new URL(service.url)
  const headers = { authorization: `Bearer ${service.token}`, 'content-length': 2, expect: '100-continue' }
  const running = request({ port, method: 'POST', path: BULK, agent: false, headers })
  running.flushHeaders()
  await once(running, 'continue')
  const closed = service.close()
  await eventually(stream.isEnded, 'the end of the stream')
  t.ok(stream.isComplete(), 'the response ends as HTTP demands')
  running.end('{}')
  const [{ statusCode }] = (await once(running, 'response')) as [IncomingMessage]
  t.equal(statusCode, 200, 'a request that runs is answered')
  await closed
})

await t.test('an event stream of open OFREP routes needs no ticket, and a setting disables it', async (t) => {
  const service = await startService(t, { 'authentication.exclude.ofrep': 'true', 'server.streams.per_address': '2' })
  const { uri } = await announced(service)
  t.equal(uri, '/ofrep/v1/events?namespace=default')
  const streams = [await listening(t, service, uri), await listening(t, service, uri)]
  const third = await service.request('GET', uri, undefined, { authorization: '' })
  t.match(third, { status: 429, headers: { 'retry-after': '5' } })
  streams[0]!.end()
  await eventually(async () => (await listening(t, service, uri)).status === 200, 'a place is free again')

  const without = await startService(t, { 'ofrep.event_streams': 'false' })
  t.equal((await announced(without)).uri, '')
  t.equal((await without.request('GET', '/ofrep/v1/events')).status, 404)
  t.match((await without.request('GET', '/ofrep/v1/configuration')).json, {
    capabilities: { cacheInvalidation: { eventStreams: { enabled: false } } },
  })
})

await t.test('a bulk request waits for the state that an event announced', async (t) => {
  const service = await startService(t)
  await maker(service).boolean('a')
  const stream = await listening(t, service, (await announced(service)).uri)
  const [event] = await eventually(() => stream.events().length > 0 && stream.events(), 'the present state')
  const bulk = async (query: string) =>
    (await service.request('POST', `${BULK}?${query}`, { context: { targetingKey: 'e' } })).status
  t.equal(await bulk(`flagConfigEtag=${event!.data.etag}&flagConfigLastModified=1`), 200)
  t.equal(await bulk('flagConfigEtag=of-another-server'), 200)
  t.equal(await bulk('flagConfigEtag=x.999999999999'), 200, 'a position of another deployment')
  t.equal(await bulk('flagConfigLastModified=99999999999'), 200)
})

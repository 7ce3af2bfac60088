import { createHmac } from 'node:crypto'
import { get } from 'node:http'
import t, { type Test } from 'tap'
import { type Started, startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { maker } from './flags.ts'
import type { Issued } from './people.ts'

const BULK = '/ofrep/v1/evaluate/flags'
type Bulk = { readonly eventStreams?: readonly { readonly endpoint: { readonly requestUri: string } }[] }
type Event = { readonly id: string; readonly data: { readonly type: string; readonly etag: string } }

/** A browser's `EventSource` without its reconnection: it sends no header but `Last-Event-ID`. */
const listening = async (t: Test, { url }: Started, path: string, headers: Readonly<Record<string, string>> = {}) => {
  let text = ''
  let isEnded = false
  let end = (): void => undefined
  const answer = await new Promise<{ readonly status: number; readonly type: string }>((resolve, reject) => {
    const request = get(`${url}${path}`, { agent: false, headers }, (response) => {
      end = () => void request.destroy()
      t.teardown(end)
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => (text += chunk))
      response.on('close', () => (isEnded = true))
      resolve({ status: response.statusCode ?? 0, type: response.headers['content-type'] ?? '' })
    })
    request.on('error', reject)
  })
  const events = (): readonly Event[] =>
    [...text.matchAll(/^id: (\d+)\nevent: message\ndata: (.*)\n\n/gm)].map(([, id, data]) => ({
      id: id!,
      data: JSON.parse(data!) as Event['data'],
    }))
  return { ...answer, events, text: () => text, isEnded: () => isEnded, end: () => end() }
}

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
  const strange = await listening(t, service, uri, { 'last-event-id': 'x' })
  const foreign = await listening(t, service, uri, { 'last-event-id': '999999999' })
  await eventually(() => strange.events().length === 1 && foreign.events().length === 1, 'unknown ids')
  t.same(again.events(), [], 'the client has the present state')
  await service.request('POST', '/api/v1/namespaces', { key: 'other', name: 'other' })
  await clock.advance(20_000)
  await eventually(() => again.text().includes(': keep-alive\n\n'), 'a comment')
  t.same(again.events(), [], 'another namespace is of no concern')
  await eventually(async () => (await open(service)) === 4, 'the metric')
  for (const one of [stream, again, strange]) one.end()
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

await t.test('an event stream needs no ticket if the routes of OFREP are open, and has a setting', async (t) => {
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

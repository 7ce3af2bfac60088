import { get } from 'node:http'
import t, { type Test } from 'tap'
import type { HistoryEvent, HistoryEvents } from '../../src/contract/history/events.ts'
import { withoutServers } from '../cluster/own.ts'
import { type Started, startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { writeForeign } from './foreign.ts'
import type { Issued } from './people.ts'

const N = '/api/v1/namespaces/default'

type Options = { readonly search?: string; readonly token?: string; readonly last?: number }

/** A client of the live stream that collects its blocks. */
const followed = async (t: Test, { url, token: own }: Started, { search = '', token = own, last }: Options = {}) => {
  let text = ''
  let ended = false
  const headers = {
    authorization: `Bearer ${token}`,
    accept: 'text/event-stream',
    ...(last !== undefined && { 'last-event-id': String(last) }),
  }
  let end = (): void => undefined
  const status = await new Promise<number>((resolve, reject) => {
    const request = get(`${url}/audit/v1/events?${search}`, { agent: false, headers }, (response) => {
      end = () => void request.destroy()
      t.teardown(end)
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => (text += chunk))
      response.on('close', () => (ended = true))
      resolve(response.statusCode ?? 0)
    })
    request.on('error', reject)
  })
  const blocks = () =>
    text
      .slice(0, text.lastIndexOf('\n\n') + 2)
      .split('\n\n')
      .filter((block) => block !== '')
  const events = () =>
    blocks().flatMap((block) => {
      const [, index, data] = /^id: (\d+)\ndata: (.*)$/.exec(block) ?? []
      return data === undefined ? [] : [{ id: Number(index), event: JSON.parse(data) as HistoryEvent }]
    })
  return { status, blocks, events, ended: () => ended, end: () => end() }
}

const flag = ({ request }: Started, key: string) => request('POST', `${N}/flags`, { key, name: key })
const head = async ({ request }: Started) =>
  (await request<HistoryEvents>('GET', '/audit/v1/events?order=desc&limit=1')).json.head!.index

await t.test('the event stream sends events as they happen', async (t) => {
  const service = await startService(t)
  const all = await followed(t, service)
  const creations = await followed(t, service, { search: 'type=FlagCreated' })
  t.equal(all.status, 200)
  await eventually(() => all.blocks()[0] === 'retry: 2000', 'the first block')
  for (const key of ['a', 'b', 'c']) await flag(service, key)
  const isFlag = ({ event }: { readonly event: HistoryEvent }) => event.type.startsWith('Flag')
  await eventually(() => all.events().filter(isFlag).length === 6, 'all events of the flags')
  await eventually(() => creations.events().length === 3, 'the filtered events')
  const seen = all.events()
  t.strictSame(
    seen.map(({ id }) => id),
    seen.map((_, n) => seen[0]!.id + n),
    'without gaps',
  )
  const { json } = await service.request<HistoryEvents>('GET', `/audit/v1/events?afterIndex=${seen[0]!.id - 1}`)
  // The name of a token is absent while the read model of tokens is behind.
  const unnamed = (event: HistoryEvent) => ({ ...event, actor: { ...event.actor, name: undefined } })
  const [streamed, listed] = [seen.map(({ event }) => event), json.events]
  t.strictSame(streamed.slice(0, 6).map(unnamed), listed.slice(0, 6).map(unnamed), 'the same JSON as a page')
})

await t.test('the event stream continues after Last-Event-ID without a loss or a repetition', async (t) => {
  const service = await startService(t)
  const found: number[] = []
  let last = await head(service)
  const first = last + 1
  for (let round = 0; round < 8; round++) {
    const client = await followed(t, service, { last })
    for (let n = 0; n < 3; n++) await flag(service, `f${round}-${n}`)
    const newest = await head(service)
    await eventually(() => (client.events().at(-1)?.id ?? -1) >= newest - 1, 'some of the events')
    const events = client.events()
    found.push(...events.map(({ id }) => id))
    last = events.at(-1)!.id
    client.end()
  }
  t.strictSame(
    found,
    found.map((_, n) => first + n),
  )
  const whole = await followed(t, service, { last: -1 })
  await eventually(() => whole.events().length > found.length, 'the events from the start')
  t.equal(whole.events()[0]!.id, 0)
  for (const header of ['x', '-2', '1.5', '99999']) {
    const { status, json } = await service.request('GET', '/audit/v1/events?format=sse', undefined, {
      'last-event-id': header,
    })
    t.equal(status, 400, header)
    t.match(json, { message: 'invalid header Last-Event-ID: must be an index of the log' })
  }
  for (const search of ['to=2030-01-01T00:00:00Z', 'before=3', 'beforeIndex=3', 'order=desc'])
    t.equal((await service.request('GET', `/audit/v1/events?format=sse&${search}`)).status, 400, search)
})

await t.test('the record of an event stream has only filters, in bounded length', async (t) => {
  const clock = virtualClock()
  const service = await startService(t, {}, { clock })
  const recorded = async () =>
    (await service.request<HistoryEvents>('GET', '/audit/v1/events?type=HistoryExported')).json.events.map(
      ({ data }) => (data as { readonly filter: Readonly<Record<string, string>> }).filter,
    )
  /** Begins a stream, again while those that were left are still counted, and leaves it. */
  const left = (search: string) =>
    eventually(
      async () => {
        const { status, end } = await followed(t, service, { search })
        end()
        return status === 200
      },
      search.slice(0, 40),
    )
  const unknown = 'j'.repeat(12_000)
  for (let n = 0; n < 12; n++) await left(`namespace_key=default&order=asc&pretty&format=sse&j${n}=${unknown}`)
  t.strictSame(await recorded(), [{ namespaceKey: 'default' }], 'unknown parameters make no other filter')
  const smiles = encodeURIComponent('\u{1f600}'.repeat(1_000))
  for (const end of ['a', 'b']) await left(`q=flag&stream=${smiles},${unknown}${end}`)
  const [, one, other] = await recorded()
  for (const filter of [one!, other!]) {
    t.strictSame(Object.keys(filter).toSorted(), ['q', 'stream'])
    for (const text of Object.values(filter)) t.match(text, /^filter-[\w-]{22}$/)
  }
  t.not(one!['stream'], other!['stream'], 'a digest names the whole text')
})

await t.test('the event stream ends when its token is revoked or the service stops', async (t) => {
  const service = await startService(t)
  const { json: auditor } = await service.request<Issued>('POST', '/auth/v1/method/token', {
    name: 'a',
    role: 'auditor',
  })
  const theirs = await followed(t, service, { token: auditor.clientToken })
  const mine = await followed(t, service)
  t.equal(theirs.status, 200)
  await service.request('DELETE', `/auth/v1/tokens/${auditor.authentication.id}`)
  await eventually(() => theirs.ended(), 'the end of the stream')
  t.notOk(mine.ended())
  t.equal((await followed(t, service, { token: auditor.clientToken })).status, 401)
  await service.close()
  await eventually(() => mine.ended(), 'the end at shutdown')
})

const NARROWED = 'the event stream ends after audit.read is taken from its token'
// The only instance of an embedded log applies rules at its start, so grants never change during a stream.
await t.test(NARROWED, { skip: withoutServers }, async (t) => {
  const service = await startService(t)
  const body = { name: 'a', role: 'auditor' }
  const { json: auditor } = await service.request<Issued>('POST', '/auth/v1/method/token', body)
  const { id } = auditor.authentication
  const theirs = await followed(t, service, { token: auditor.clientToken })
  const ofShop = await followed(t, service, { token: auditor.clientToken, search: 'namespaceKey=shop' })
  const mine = await followed(t, service)
  t.strictSame([theirs.status, ofShop.status], [200, 200])
  const to = { grants: [{ place: 'shop', rights: ['history.read'] }], roles: {} }
  const narrowed = JSON.stringify({ id, to, policy: 1 })
  await writeForeign(service.directory, { stream: `token-${id}`, type: 'TokenGrantsNarrowed', data: narrowed })
  await eventually(() => theirs.ended() && ofShop.ended(), 'the end of both streams')
  t.notOk(mine.ended())
  t.equal((await followed(t, service, { token: auditor.clientToken })).status, 403)
  const again = await followed(t, service, { token: auditor.clientToken, search: 'namespaceKey=shop' })
  t.equal(again.status, 200, 'only the events of its namespace remain')
})

await t.test('an event stream without events sends heartbeats with the position to continue from', async (t) => {
  const clock = virtualClock()
  const service = await startService(t, {}, { clock })
  const client = await followed(t, service, { search: 'type=NamespaceDeleted' })
  await eventually(() => client.blocks().length === 1, 'the first block')
  await flag(service, 'f')
  // The request reads the log, so the clock does not outrun a slow server.
  const second = async () => {
    await clock.advance(1_000)
    await service.request('GET', '/auth/v1/tokens?limit=1')
  }
  await eventually(async () => {
    await second()
    return client.blocks().some((block) => /^id: \d+$/.test(block))
  }, 'a block that moves the cursor')
  await eventually(async () => {
    await second()
    return client.blocks().includes(': keep-alive')
  }, 'a comment')
  t.strictSame(client.events(), [], 'no event passed the filter')
})

await t.test('a client that continues an event stream is recorded only once', async (t) => {
  const service = await startService(t)
  const client = await followed(t, service)
  await flag(service, 'f')
  await eventually(() => client.events().length > 1, 'events')
  const recorded = async () =>
    (await service.request<HistoryEvents>('GET', '/audit/v1/events?type=HistoryExported')).json.events
  t.match(await recorded(), [{ data: { format: 'sse' } }])
  client.end()
  const last = client.events().at(-1)!.id
  const again = await followed(t, service, { last })
  await eventually(() => again.blocks().length > 0, 'the first block')
  again.end()
  t.equal((await recorded()).length, 1, 'a stream that continues')
  const earlier = await followed(t, service, { last: 0 })
  await eventually(() => earlier.blocks().length > 0, 'the first block')
  earlier.end()
  t.equal((await recorded()).length, 1, 'an equal stream in the same minute is counted')
  const other = await followed(t, service, { search: 'type=Flag*', last: 0 })
  await eventually(() => other.blocks().length > 0, 'the first block')
  t.equal((await recorded()).length, 2, 'a stream with another filter')
})

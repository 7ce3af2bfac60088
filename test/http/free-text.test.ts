import t from 'tap'
import type { HistoryEvents } from '../../src/contract/history/events.ts'
import { type Fields, type Headers, type Started, startService } from '../start.ts'
import { eventually } from '../wait.ts'
import { allEventsOf } from './events-of.ts'
import { bearer, type Issued, refusalOf } from './people.ts'

const N = '/api/v1/namespaces'
const MAIL = 'alice.mark@people.example'

/** Every text of a request that an event could keep, with a client token in it. */
const textsWith = (token: string): readonly (readonly [method: string, path: string, body: Fields])[] => {
  const text = `see ${token}.`
  const flag = `${N}/default/flags/f`
  const segment = `${N}/default/segments/s`
  const constraint = { type: 'STRING_COMPARISON_TYPE', property: 'p', operator: 'eq', value: 'v' }
  return [
    ['POST', '/auth/v1/method/token', { name: text }],
    ['POST', '/auth/v1/method/token', { name: 'n', description: text }],
    ['POST', '/auth/v1/method/token', { name: 'n', metadata: { a: text } }],
    ['POST', '/auth/v1/method/token', { name: 'n', metadata: { [token]: 'a' } }],
    ['POST', '/auth/v1/method/token', { name: 'n', namespaceKey: token }],
    ['POST', N, { key: token, name: 'n' }],
    ['POST', N, { key: 'n', name: 'n', description: text }],
    ['POST', `${N}/default/flags`, { key: 'g', name: text }],
    ['PUT', flag, { name: 'f', description: text }],
    ['PUT', flag, { name: 'f', metadata: { a: [{ b: text }] } }],
    ['PUT', flag, { name: 'f', metadata: { a: { [text]: 1 } } }],
    ['POST', `${flag}/variants`, { key: text }],
    ['POST', `${flag}/variants`, { key: 'v', attachment: JSON.stringify({ a: text }) }],
    ['POST', `${flag}/variants`, { key: 'v', attachment: `"\\u0072${token.slice(1)}"` }],
    ['POST', `${flag}/rollouts`, { description: text, threshold: { percentage: 50, value: true } }],
    ['POST', `${flag}/rules`, { segmentKey: token }],
    ['POST', `${flag}/changes`, { changes: [{ op: 'variant.create', key: 'v', name: text }] }],
    ['PUT', segment, { name: 's', description: text }],
    ['POST', `${segment}/constraints`, { ...constraint, value: text }],
    ['POST', `${segment}/constraints`, { ...constraint, property: text }],
    ['POST', `${segment}/constraints`, { ...constraint, description: text }],
    ['POST', '/audit/v1/subjects/erase', { subject: `token-${token}`, reason: 'r' }],
    ['POST', '/audit/v1/subjects/erase', { subject: 'person-a', reason: text }],
  ]
}

const REFUSED = /must not contain a client token$/

const withFlag = async (service: Started): Promise<void> => {
  await service.request('POST', `${N}/default/flags`, { key: 'f', name: 'f' })
  await service.request('POST', `${N}/default/segments`, { key: 's', name: 's' })
}

await t.test('a client token in a text of a request is refused, and enters neither history nor log', async (t) => {
  const service = await startService(t)
  const { request } = service
  await withFlag(service)
  const issued = async (body: Fields) => (await request<Issued>('POST', '/auth/v1/method/token', body)).json.clientToken
  const editor = await issued({ name: 'editor', grants: [{ namespaceKey: 'default', role: 'editor' }] })
  const published = await issued({ name: 'app', role: 'client' })
  t.match([editor, published], [/^rct_/, /^rcp_/])
  const secrets = [editor, published, ...['rcs_', 'rck_', 'rcb_'].map((kind) => kind + editor.slice(4))]
  for (const secret of secrets)
    for (const [method, path, body] of textsWith(secret)) {
      const { status, message } = refusalOf(await request(method, path, body))
      t.match(
        { status, message },
        { status: 400, message: REFUSED },
        `${secret.slice(0, 4)} ${path} ${Object.keys(body).join()}`,
      )
    }
  const reason = refusalOf(
    await request('DELETE', `${N}/default/flags/f`, undefined, { 'event-reason': `x ${editor}` }),
  )
  t.match(reason, { status: 400, message: REFUSED })

  const marked: Headers = { 'x-request-id': `a.${editor}`, 'user-agent': `agent/1 ${editor}` }
  const { status, headers } = await request('PUT', `${N}/default/flags/f`, { name: 'g' }, marked)
  t.equal(status, 200)
  t.match(headers['x-request-id'], /^[\da-f]{8}-/, 'the request has an id of the service')
  const elsewhere = (namespaceKey: string) =>
    request('POST', '/evaluate/v1/boolean', { namespaceKey, flagKey: 'f', entityId: 'e' }, bearer(editor))
  for (const namespace of [editor, MAIL, 'other']) t.equal((await elsewhere(namespace)).status, 403)
  await service.close()
  const events = await allEventsOf(service.directory)
  t.match(
    events.flatMap(({ type, data }) => (type.startsWith('AuthenticationRefused') ? [data['namespace']] : [])),
    ['?', 'other'],
    'a refused namespace is recorded if it can be a key',
  )
  const [history, log] = [JSON.stringify(events), await service.logged()]
  for (const text of [editor.slice(4), published.slice(4), MAIL]) {
    t.notOk(history.includes(text), 'the history')
    t.notOk(log.includes(text), 'the log')
  }
})

await t.test('the record of a reading has free text of a filter only as a keyed digest', async (t) => {
  const service = await startService(t)
  const { request } = service
  await withFlag(service)
  const { json: other } = await request<Issued>('POST', '/auth/v1/method/token', { name: 'other' })
  const { id } = other.authentication
  const read = async (search: string) => {
    const { status } = await request('GET', `/audit/v1/events?personal=open&${search}`)
    t.equal(status, 200, search)
  }
  const mail = encodeURIComponent(MAIL)
  const secret = other.clientToken
  const texts = [
    'q',
    'actor',
    'subject',
    'stream',
    'tokenId',
    'namespaceKey',
    'provider',
    'requestId',
    'command',
    'route',
  ]
  const kept: readonly (readonly [name: string, value: string])[] = [
    ['type', 'Flag*,!FlagCreated'],
    ['category', 'flag,segment'],
    ['tokenId', id],
    ['actor', `${id},!${id}`],
    ['namespaceKey', 'default'],
    ['stream', `token-${id}`],
    ['stream', 'flag-default+f'],
    ['subject', 'network-2026-01-01'],
    ['afterIndex', '1'],
    ['from', '2026-01-01T00:00:00Z'],
  ]
  for (const [name, value] of kept) await read(`${name}=${encodeURIComponent(value)}`)
  const recorded = async () =>
    (await request<HistoryEvents>('GET', '/audit/v1/events?type=HistoryExported&limit=1000')).json.events.map(
      ({ data }) => data['filter'] as Fields,
    )
  t.strictSame(
    await recorded(),
    kept.map(([name, value]) => ({ [name]: value })),
    'words, times, ids and keys are as given',
  )
  await eventually(async () => {
    // At most ten records of one caller in a minute are individual.
    const reader = await request<Issued>('POST', '/auth/v1/method/token', { name: 'r', role: 'auditor' })
    const headers = bearer(reader.json.clientToken)
    const before = (await recorded()).length
    for (const text of texts.splice(0, 5))
      await request('GET', `/audit/v1/events?personal=open&${text}=${mail}`, undefined, headers)
    for (const value of ['flagKey=alice', 'type=*alice.mark*', `q=${secret}`, `type=Flag*,*${mail}`])
      await request('GET', `/audit/v1/events?personal=open&namespaceKey=default&${value}`, undefined, headers)
    for (const filter of (await recorded()).slice(before))
      for (const [name, text] of Object.entries(filter))
        if (name !== 'namespaceKey' || text !== 'default') t.match(text, /^filter-[\w-]{22}$/, name)
    return texts.length === 0
  }, 'all texts')
  await service.close()
  const history = JSON.stringify(await allEventsOf(service.directory))
  for (const text of ['alice', secret.slice(4)]) t.notOk(history.includes(text), 'the history')
})

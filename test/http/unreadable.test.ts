import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { exported } from '../cli/inside.ts'
import { onCluster } from '../cluster/own.ts'
import { type Started, startService } from '../start.ts'
import { eventually } from '../wait.ts'
import { maker } from './flags.ts'
import { forgetAllButLast, writeForeign } from './foreign.ts'

type Token = { readonly clientToken: string; readonly authentication: { readonly id: string } }
type Problem = { readonly details: readonly { readonly value: { readonly reason: string } }[] }

const CHANGED = '{"id":"cut","to":"2099-01-01T00:00:00.000Z"}'
const SECRET = 'words that nobody may read'
const reasonOf = ({ json }: { readonly json: unknown }) => (json as Problem).details?.[0]?.value.reason
const keysOf = ({ json }: { readonly json: unknown }, list = 'flags') =>
  (json as Readonly<Record<string, readonly { readonly key: string }[]>>)[list]!.map(({ key }) => key)

const issue = async ({ request }: Started, name: string): Promise<Token> =>
  (await request<Token>('POST', '/auth/v1/method/token', { name })).json

/** Directory on which services start one after another. */
const place = async (t: Test) => {
  const directory = await mkdtemp(join(tmpdir(), 'rollcall-test-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  return { directory, open: (t: Test) => startService(t, {}, { directory }) }
}

/** Creates the data before the damage. */
const fill = async (service: Started) => {
  const make = maker(service)
  for (const key of ['sick', 'well']) await make.segment(key, [{ property: 'a', operator: 'eq', value: 'b' }])
  for (const key of ['sick', 'well', 'asks']) await make.boolean(key, true)
  await make.bySegment('asks', { segmentKey: 'sick' })
  await make.bySegment('well', { segmentKey: 'well' })
  await maker(service, 'sick').namespace()
  await maker(service, 'sick').boolean('inside', true)
  const tokens = {
    sick: await issue(service, 'sick'),
    cut: await issue(service, 'cut'),
    well: await issue(service, 'well'),
  }
  const before = (await service.request('POST', '/auth/v1/method/token', { name: 'last' })).headers['event-position']
  return { tokens, before: String(before) }
}
type Filled = Awaited<ReturnType<typeof fill>>

const damage = async (directory: string, { tokens }: Filled): Promise<void> => {
  const { id } = tokens.sick.authentication
  const { id: cut } = tokens.cut.authentication
  await writeForeign(
    directory,
    { stream: 'flag-default+sick', type: 'FlagArchived', data: JSON.stringify({ because: SECRET }) },
    { stream: 'segment-default+sick', type: 'CustomerSegmented', data: JSON.stringify({ customer: SECRET }) },
    { stream: 'namespace-sick', type: 'NamespaceMoved.v3', data: '{}' },
    { stream: `token-${id}`, type: 'TokenExpiryChanged', data: `{"id":"${SECRET}` },
    { stream: `token-${cut}`, type: 'TokenExpiryChanged', data: onCluster ? CHANGED : '[]' },
  )
  if (onCluster) await forgetAllButLast(directory, `token-${cut}`)
}

const readyWhen = ({ request }: Started, holds: (checks: string) => boolean) =>
  eventually(async () => holds((await request('GET', '/readyz?verbose')).text), 'checks that say what is damaged')

/** Expects that exports have an event that cannot be read, as it stands, and that no state after it is shown. */
const shown = async (t: Test, { request }: Started) => {
  for (const format of ['json', 'ndjson', 'csv', 'ocsf']) {
    const { status, text } = await request('GET', `/audit/v1/events?stream=flag-default%2Bsick&format=${format}`)
    t.equal(status, 200, format)
    t.match(text, 'FlagArchived', format)
  }
  const state = await request('GET', '/audit/v1/state/flag/default+sick')
  t.strictSame([state.status, reasonOf(state)], [503, 'event_unreadable'])
}

/** Expects the same answers about damaged data, however the service read it. */
const closed = async (t: Test, service: Started, { tokens, before }: Filled) => {
  const { request } = service
  const ask = (flagKey: string, namespaceKey = 'default') =>
    request('POST', '/evaluate/v1/boolean', { flagKey, namespaceKey, entityId: 'e', context: {} })
  const refused = async (method: string, path: string, body?: unknown) => {
    const answer = await request(method, path, body)
    t.equal(answer.status, 503, `${method} ${path}`)
    t.equal(reasonOf(answer), 'event_unreadable', `${method} ${path}`)
  }
  const left = async (path: string, list: string, wanted: readonly string[], count: string, method = 'GET') => {
    const answer = await request(method, path, method === 'GET' ? undefined : { context: { targetingKey: 'e' } })
    t.equal(answer.status, 200, path)
    t.same(keysOf(answer, list), wanted, path)
    t.equal(answer.headers['rollcall-unreadable'], count, path)
  }
  const D = '/api/v1/namespaces/default'
  const changeNow = async () =>
    String((await request('PUT', `${D}/flags/well`, { name: 'well' })).headers['event-position'])

  for (const path of ['/flags/sick', '/segments/sick']) {
    await refused('GET', D + path)
    await refused('PUT', D + path, { name: 'new', matchType: 'ANY_MATCH_TYPE' })
    t.equal((await request('GET', `${D}${path}?at=${before}`)).status, 200, 'before the event it is as it was')
    await refused('GET', `${D}${path}?at=${await changeNow()}`)
  }
  await refused('GET', '/api/v1/namespaces/sick')
  await refused('PUT', '/api/v1/namespaces/sick', { name: 'new' })
  await refused('GET', `${D}/flags/sick/rollouts`)
  for (const flagKey of ['sick', 'asks']) {
    await refused('POST', '/evaluate/v1/boolean', { flagKey, entityId: 'e', context: {} })
    const single = await request('POST', `/ofrep/v1/evaluate/flags/${flagKey}`, { context: { targetingKey: 'e' } })
    t.match([single.status, single.json], [503, { errorCode: 'GENERAL' }])
  }
  t.equal((await ask('well')).status, 200, 'all else goes on')
  t.equal((await ask('inside', 'sick')).status, 200, 'so do the flags of a namespace whose own stream is unreadable')
  const batch = await request('POST', '/evaluate/v1/batch', {
    requests: ['sick', 'well', 'asks', 'none'].map((flagKey) => ({ flagKey, entityId: 'e', context: {} })),
  })
  t.match(batch.json['responses'], [
    { errorResponse: { flagKey: 'sick', reason: 'UNKNOWN_ERROR_EVALUATION_REASON' } },
    { booleanResponse: { flagKey: 'well' } },
    { errorResponse: { flagKey: 'asks', reason: 'UNKNOWN_ERROR_EVALUATION_REASON' } },
    { errorResponse: { flagKey: 'none', reason: 'NOT_FOUND_ERROR_EVALUATION_REASON' } },
  ])

  await left(`${D}/flags`, 'flags', ['well', 'asks'], '1')
  await left(
    `${D}/flags?at=${(await request('GET', '/auth/v1/tokens')).status === 200 ? new Date().toISOString() : ''}`,
    'flags',
    ['well', 'asks'],
    '1',
  )
  await left(`${D}/segments`, 'segments', ['well'], '1')
  await left('/api/v1/namespaces', 'namespaces', ['default'], '1')
  await left('/internal/v1/evaluation/snapshot/namespace/default', 'flags', ['well'], '2')
  await left('/ofrep/v1/evaluate/flags', 'flags', ['well'], '2', 'POST')
  t.equal((await request('GET', `${D}/flags?at=${before}`)).headers['rollcall-unreadable'], undefined)
  t.equal((await request('GET', '/api/v1/namespaces/sick/flags')).headers['rollcall-unreadable'], undefined)

  const self = (token: Token) =>
    request('GET', '/auth/v1/self', undefined, { authorization: `Bearer ${token.clientToken}` })
  t.equal((await self(tokens.well)).status, 200)
  for (const token of [tokens.sick, tokens.cut]) {
    const answer = await self(token)
    t.equal(answer.status, 503, 'the state of the token is unknown')
    t.equal(reasonOf(answer), 'event_unreadable')
    await refused('GET', `/auth/v1/tokens/${token.authentication.id}`)
  }
  await shown(t, service)
  const ready = await request('GET', '/readyz?verbose')
  t.equal(ready.status, 200)
  t.match(ready.text, /"events","status":"degraded"/)
}

/** Log lines that name an event of a stream. */
const told = async (service: Started, stream: string) =>
  (await service.logged()).split('\n').filter((line) => line.includes(`"stream":"${stream}"`))

const inMetrics = async (t: Test, service: Started, counts: Readonly<Record<string, number>>) => {
  const page = await service.metrics()
  for (const [category, count] of Object.entries(counts))
    t.match(page, `rollcall_events_unreadable{category="${category}"} ${count}\n`)
}

await t.test('an event that cannot be read makes only its own document unavailable', async (t) => {
  const { directory, open } = await place(t)
  const first = await open(t)
  const filled = await fill(first)
  if (!onCluster) await first.close()
  await damage(directory, filled)
  const { sick, cut } = filled.tokens

  await t.test('an event that cannot be read has the same effect during and after a start', async (t) => {
    const service = onCluster ? first : await open(t)
    await readyWhen(service, (checks) => checks.includes('"events","status":"degraded"'))
    await closed(t, service, filled)
    await inMetrics(t, service, { flag: 1, segment: 1, namespace: 1, token: onCluster ? 1 : 2 })
    const streams = ['flag-default+sick', 'segment-default+sick', 'namespace-sick', `token-${sick.authentication.id}`]
    for (const stream of streams) {
      const lines = await told(service, stream)
      t.equal(lines.length, 1, `one line for ${stream}`)
      const line = JSON.parse(lines[0]!) as object
      t.strictSame(
        Object.keys(line).filter((name) => !['time', 'level', 'msg'].includes(name)),
        ['stream', 'revision', 'type', 'position', 'why'],
        'nothing of the document',
      )
      t.match(line, {
        level: 'ERROR',
        stream,
        revision: /^\d+$/,
        position: /^\d+$/,
        type: /./,
        why: /./,
      })
    }
    t.notMatch(await service.logged(), SECRET)
    await t.rejects(exported(service), /leaves out 1 item that the service cannot read/, 'an export says what it lacks')
    await service.close()
  })

  await t.test('an event that cannot be read has the same effect after a rebuild of all read models', async (t) => {
    if (!onCluster) await rm(join(directory, 'data', 'views.sqlite'))
    const service = await open(t)
    const { request } = service
    if (onCluster) await closed(t, service, filled)
    else {
      t.equal((await request('GET', '/readyz')).status, 200)
      t.equal(reasonOf(await request('GET', '/api/v1/flags/sick')), 'event_unreadable')
    }
    const holder = { method: 'METHOD_TOKEN', identity: 'sick' }
    t.match((await request('POST', '/auth/v1/tokens/revoke', holder)).json, { revoked: 1 }, 'a holder is ended whole')
    for (const { authentication, clientToken } of [sick, cut]) {
      const path = `/auth/v1/tokens/${authentication.id}`
      if (authentication.id === cut.authentication.id) t.equal((await request('DELETE', path)).status, 200)
      t.equal((await request('GET', path)).status, 404)
      const as = { authorization: `Bearer ${clientToken}` }
      t.equal((await request('GET', '/auth/v1/self', undefined, as)).status, 401, 'it is ended for good')
    }
    await inMetrics(t, service, { flag: 1, token: 0 })
    t.equal((await request('GET', '/auth/v1/tokens')).headers['rollcall-unreadable'], undefined)
    await service.reopen()
    const as = { authorization: `Bearer ${sick.clientToken}` }
    t.equal((await request('GET', '/auth/v1/self', undefined, as)).status, 401)
  })
})

import t from 'tap'
import { startService } from '../../start.ts'
import { virtualClock } from '../../virtual-clock.ts'
import { creator, refuses } from './refusals.ts'

const N = '/api/v1/namespaces/default'
type Answer = { readonly headers: Readonly<Record<string, unknown>> }
type Items = Readonly<Record<string, readonly { readonly key: string }[]>> & {
  readonly nextPageToken: string
  readonly totalCount: number
}
const positionOf = ({ headers }: Answer) => String(headers['event-position'])

await t.test('GET requests with the parameter "at" return the state at a past moment', async (t) => {
  const clock = virtualClock(new Date().toISOString())
  /** Instant `ms` from now. */
  const then = (ms: number) => new Date(clock.now().getTime() + ms).toISOString()
  const service = await startService(t, {}, { clock })
  const { request } = service
  const refused = refuses(service)
  const create = creator(service)
  const keys = async (path: string, name: string) =>
    (await request<Items>('GET', path)).json[name]?.map(({ key }) => key)

  await t.test('an answer about a past moment has the position and the time of the moment', async (t) => {
    const told = async (path: string, method = 'GET', body?: object) => {
      const { headers } = await request(method, path, body)
      return [headers['as-of-position'], headers['as-of-time']]
    }
    const position = positionOf(await request('POST', `${N}/flags`, { key: 'told', name: 'T' }))
    const { createdAt } = (await request<{ readonly createdAt: string }>('GET', `${N}/flags/told`)).json
    const [, time] = await told(`${N}/flags/told?at=${position}`)
    t.equal(time, createdAt)
    await clock.advance(5)
    const instant = clock.now().toISOString()
    await clock.advance(1)
    await request('DELETE', `${N}/flags/told`)
    for (const path of ['/api/v1/namespaces', `${N}/flags`, '/auth/v1/tokens', `${N}/flags/told`]) {
      t.same(await told(`${path}?at=${position}`), [position, createdAt], path)
      t.same(await told(`${path}?at=${instant}`), [position, instant], path)
      t.same(await told(path), [undefined, undefined], path)
    }
    const asked = { namespaceKey: 'default', flagKey: 'told', entityId: 'e', context: {} }
    t.same(await told(`/evaluate/v1/variant?at=${position}`, 'POST', asked), [position, createdAt])
    t.same(await told(`${N}/flags?at=1970-01-01T00:00:00Z`), ['0', '1970-01-01T00:00:00.000Z'])
    t.same(await told(`${N}/flags?at=0`), ['0', undefined])
  })

  await t.test('every GET returns its past answer by position and by time', async (t) => {
    await create(t, '/api/v1/namespaces', { key: 'other', name: 'O' })
    await create(t, `${N}/segments`, { key: 's', name: 'S' })
    await create(t, `${N}/flags`, { key: 'f', name: 'F', enabled: true, metadata: { a: 1 } })
    const variant = await create(t, `${N}/flags/f/variants`, { key: 'v', attachment: '{}' })
    const rule = await create(t, `${N}/flags/f/rules`, { segmentKey: 's' })
    await create(t, `${N}/flags/f/rules/${rule.id}/distributions`, { variantId: variant.id, rollout: 33.33 })
    const rollout = await create(t, `${N}/flags/f/rollouts`, { segment: { segmentKey: 's', value: true } })
    const last = await request('POST', `${N}/segments/s/constraints`, {
      type: 1,
      property: 'p',
      operator: 'eq',
      value: 'x',
    })
    const paths = [
      '/api/v1/namespaces',
      N,
      '/api/v1/namespaces/other',
      `${N}/flags`,
      `${N}/flags/f`,
      '/api/v1/flags/f',
      `${N}/flags/f/rules`,
      `${N}/flags/f/rules/${rule.id}`,
      `${N}/flags/f/rollouts`,
      `${N}/flags/f/rollouts/${rollout.id}`,
      `${N}/segments`,
      `${N}/segments/s`,
    ]
    const before = new Map<string, { json: unknown; etag: unknown }>()
    for (const path of paths) {
      const { json, headers } = await request('GET', path)
      before.set(path, { json, etag: headers.etag })
    }
    await clock.advance(5)
    const instant = clock.now().toISOString()
    await clock.advance(1)
    await request('PUT', `${N}/flags/f`, { name: 'changed' })
    await request('DELETE', `${N}/flags/f/rules/${rule.id}`)
    await request('DELETE', `${N}/flags/f`)
    await request('DELETE', `${N}/segments/s`)
    await create(t, `${N}/flags`, { key: 'f', name: 'made again' })
    await request('DELETE', '/api/v1/namespaces/other')
    await create(t, '/api/v1/namespaces', { key: 'later', name: 'L' })
    await request('PUT', N, { name: 'changed' })

    for (const at of [positionOf(last), instant, instant.replace('Z', '%2B00:00')])
      for (const path of paths) {
        const { json, headers, status } = await request('GET', `${path}?at=${at}`)
        t.same({ status, json, etag: headers.etag }, { status: 200, ...before.get(path) }, `${path} at ${at}`)
      }
    await service.reopen()
    t.same(
      (await request('GET', `${N}/flags?at=${positionOf(last)}`)).json,
      before.get(`${N}/flags`)?.json,
      'after a restart too',
    )
    const tag = { 'if-none-match': String(before.get(`${N}/flags/f`)?.etag) }
    t.equal((await request('GET', `${N}/flags/f?at=${positionOf(last)}`, undefined, tag)).status, 304)
  })

  await t.test('a past list shows the namespace as it existed at the moment', async (t) => {
    await create(t, '/api/v1/namespaces', { key: 'twice', name: 'first' })
    const flag = await request('POST', '/api/v1/namespaces/twice/flags', { key: 'f', name: 'of the first' })
    const gone = await request('DELETE', '/api/v1/namespaces/twice?force=true')
    const again = await request('POST', '/api/v1/namespaces', { key: 'twice', name: 'second' })
    const at = (answer: Answer) => `at=${positionOf(answer)}`
    t.match((await request('GET', `/api/v1/namespaces/twice/flags/f?${at(flag)}`)).json, { name: 'of the first' })
    for (const then of [gone, again]) {
      await refused(t, ['GET', `/api/v1/namespaces/twice/flags/f?${at(then)}`], 'flag "twice/f" not found', 'not_found')
      t.same(await keys(`/api/v1/namespaces/twice/flags?${at(then)}`, 'flags'), [])
    }
    await refused(t, ['GET', `/api/v1/namespaces/twice?${at(gone)}`], 'namespace "twice" not found', 'not_found')
    t.match((await request('GET', `/api/v1/namespaces/twice?${at(again)}`)).json, { name: 'second' })
  })

  await t.test('before the first event a resource gets 404 and a list is empty', async (t) => {
    for (const at of ['0', '1970-01-01T00:00:00Z', '0000-01-01T00:00:00.000Z']) {
      await refused(t, ['GET', `${N}?at=${at}`], 'namespace "default" not found', 'not_found')
      await refused(t, ['GET', `${N}/flags/f?at=${at}`], 'flag "default/f" not found', 'not_found')
      await refused(t, ['GET', `${N}/segments/s?at=${at}`], 'segment "default/s" not found', 'not_found')
      for (const [path, name] of [
        ['/api/v1/namespaces', 'namespaces'],
        [`${N}/flags`, 'flags'],
        [`${N}/segments`, 'segments'],
        [`${N}/flags/f/rollouts`, 'rollouts'],
        ['/auth/v1/tokens', 'authentications'],
      ] as const)
        t.match(
          await request('GET', `${path}?at=${at}`),
          { status: 200, json: { [name]: [], totalCount: 0, nextPageToken: '' } },
          `${path} at ${at}`,
        )
    }
  })

  await t.test('a moment that is in the future or invalid is refused', async (t) => {
    const head = BigInt(positionOf(await request('DELETE', `${N}/flags/none`)))
    for (const path of [
      '/api/v1/namespaces',
      N,
      `${N}/flags`,
      `${N}/flags/f`,
      `${N}/segments`,
      `${N}/flags/f/rules`,
      '/auth/v1/tokens',
      '/auth/v1/tokens/x',
    ]) {
      const ask = (at: string) => ['GET', `${path}?at=${at}`] as const
      await refused(t, ask(then(1)), 'invalid field at: must not be later than now', 'invalid_at')
      await refused(t, ask(String(head + 1n)), 'invalid field at: must not be beyond the last position', 'invalid_at')
      for (const at of ['x', '-1', '1.5', '2024-01-01', '18446744073709551616'])
        await refused(t, ask(at), 'invalid field at: must be an RFC 3339 timestamp or a position', 'invalid_at')
    }
    t.equal((await request('GET', `${N}?at=${head}`)).status, 200)
    t.equal((await request('GET', `${N}?at=${then(0)}`)).status, 200)
    t.equal((await request('GET', `${N}?at=`)).status, 200)
    await refused(t, ['GET', `${N}?at=1&at=2`], 'invalid field at: given twice')
  })

  await t.test('the page tokens of a past list keep its moment', async (t) => {
    await create(t, '/api/v1/namespaces', { key: 'paged', name: 'x' })
    const path = '/api/v1/namespaces/paged/flags'
    for (const key of ['a', 'b', 'c']) await create(t, path, { key, name: key })
    const at = positionOf(await request('DELETE', `${path}/none`))
    const first = await request<Items>('GET', `${path}?limit=2&at=${at}`)
    await request('DELETE', `${path}/c`)
    await create(t, path, { key: 'd', name: 'd' })
    const rest = await request<Items>('GET', `${path}?pageToken=${first.json.nextPageToken}&at=${at}`)
    t.same(
      [...first.json['flags']!, ...rest.json['flags']!].map(({ key }) => key),
      ['a', 'b', 'c'],
    )
    t.equal(rest.json.totalCount, 3)
    const token = first.json.nextPageToken
    await refused(t, ['GET', `${path}?pageToken=${token}`], `pageToken is not valid: "${token}"`, 'invalid_page_token')
  })

  await t.test('past tokens are shown with their status at the moment', async (t) => {
    type Token = { readonly id: string; readonly status: string }
    type Tokens = {
      readonly authentications: readonly Token[]
      readonly totalCount: number
      readonly nextPageToken: string
    }
    const make = async (body: object) => {
      const answer = await request<{ authentication: Token }>('POST', '/auth/v1/method/token', body)
      return { id: answer.json.authentication.id, at: positionOf(answer) }
    }
    const kept = await make({ name: 'Kept' })
    const short = await make({ name: 'Short', expiresAt: then(3_600_000) })
    const bound = await make({ name: 'bound', namespaceKey: 'default' })
    clock.jump(3_600_000)
    const deleted = positionOf(await request('DELETE', `/auth/v1/tokens/${kept.id}`))
    const ids = async (query: string) =>
      (await request<Tokens>('GET', `/auth/v1/tokens?${query}`)).json.authentications.map(({ id }) => id)

    const statuses = async (at: string, status: string) =>
      (await ids(`at=${at}&status=${status}`)).filter((id) => [kept.id, short.id, bound.id].includes(id))
    t.same(await statuses(bound.at, 'ACTIVE'), [kept.id, short.id, bound.id])
    t.same(await statuses(bound.at, 'EXPIRED'), [])
    t.same(await statuses(deleted, 'ACTIVE'), [bound.id])
    t.same(await statuses(deleted, 'EXPIRED'), [short.id])
    t.same(await statuses(deleted, 'DELETED'), [kept.id])
    t.same(await ids(`at=${short.at}&q=sHO`), [short.id])
    t.same(await ids(`at=${short.at}&namespaceKey=default`), [])
    t.same(await ids(`at=${bound.at}&namespaceKey=default`), [bound.id])
    t.same(await ids(`at=${bound.at}&method=METHOD_OIDC`), [])
    t.match((await request('GET', `/auth/v1/tokens/${kept.id}?at=${bound.at}`)).json, { id: kept.id, status: 'ACTIVE' })
    t.match((await request('GET', `/auth/v1/tokens/${short.id}?at=${short.at}`)).json, { status: 'ACTIVE' })
    t.match((await request('GET', `/auth/v1/tokens/${short.id}?at=${deleted}`)).json, { status: 'EXPIRED' })
    for (const at of [deleted, '1'])
      await refused(
        t,
        ['GET', `/auth/v1/tokens/${kept.id}?at=${at}`],
        `authentication "${kept.id}": resource not found`,
        'not_found',
      )

    const seen: string[] = []
    let token = ''
    do {
      const { json } = await request<Tokens>('GET', `/auth/v1/tokens?at=${bound.at}&limit=2&pageToken=${token}`)
      t.equal(json.totalCount, 4)
      seen.push(...json.authentications.map(({ id }) => id))
      token = json.nextPageToken
    } while (token !== '')
    t.same(seen, await ids(`at=${bound.at}`))
    t.same(seen.slice(1), [kept.id, short.id, bound.id])
  })
})

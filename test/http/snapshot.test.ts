import t from 'tap'
import { keptChunks } from '../../src/http/memory/kept-chunks.ts'
import { startService } from '../start.ts'
import { maker } from './flags.ts'

type Part = Readonly<Record<string, unknown>>
type Snapshot = {
  readonly namespace: { readonly key: string }
  readonly flags: readonly (Part & { readonly rules: readonly Part[]; readonly rollouts: readonly Part[] })[]
}
type Constrained = { readonly constraints: readonly { readonly value: string }[] }
const valuesOf = ({ constraints }: Constrained) => constraints.map(({ value }) => value)
const S = '/internal/v1/evaluation/snapshot/namespace/'
const newest = { 'x-service-accept-server-version': '1.47.0' }

await t.test('clients that evaluate flags themselves load a snapshot of all flags', async (t) => {
  const service = await startService(t)
  const { request } = service
  const make = maker(service)
  await make.segment('germans', [{ property: 'country', operator: 'eq', value: 'de' }])
  await make.segment(
    'users',
    [{ type: 'ENTITY_ID_COMPARISON_TYPE', property: 'entityId', operator: 'eq', value: 'u1' }],
    'ANY_MATCH_TYPE',
  )
  await make.variantFlag('thirds')
  const [red, blue] = [await make.variant('thirds', 'red', '{"a":1}'), await make.variant('thirds', 'blue')]
  const rule = await make.rule(
    'thirds',
    { segmentKeys: ['users', 'germans'], segmentOperator: 'AND_SEGMENT_OPERATOR' },
    { [red]: 33.33, [blue]: 66.6 },
  )
  await make.updateFlag('thirds', { enabled: true, defaultVariantId: blue })
  await make.boolean('on', true)
  await make.bySegment('on', { segmentKey: 'users', value: false })
  await make.threshold('on', 12.5)

  const get = (headers: Record<string, string> = {}, key = 'default') =>
    request<Snapshot>('GET', S + key, undefined, headers)
  const tagOf = async (headers: Record<string, string> = newest) => String((await get(headers)).headers['etag'])

  await t.test('a snapshot has all flags in list order with everything needed to evaluate them', async (t) => {
    const { json, headers } = await get(newest)
    t.same(json.namespace, { key: 'default' })
    t.equal(headers['content-type'], 'application/json')
    t.same(
      json.flags.map(({ key }) => key),
      ['thirds', 'on'],
    )
    const [thirds, on] = json.flags
    t.match(thirds, {
      name: 'thirds',
      description: '',
      enabled: true,
      type: 'VARIANT_FLAG_TYPE',
      createdAt: /Z$/,
      updatedAt: /Z$/,
      rollouts: [],
    })
    t.same(thirds?.['defaultVariant'], { id: blue, key: 'blue', attachment: '' })
    t.equal(thirds?.rules.length, 1)
    const users = {
      key: 'users',
      name: 'users',
      description: '',
      matchType: 'ANY_SEGMENT_MATCH_TYPE',
      createdAt: /Z$/,
      updatedAt: /Z$/,
    }
    const entity = { type: 'ENTITY_ID_CONSTRAINT_COMPARISON_TYPE', property: 'entityId', operator: 'eq', value: 'u1' }
    t.match(thirds?.rules[0], {
      id: rule,
      rank: 1,
      segmentOperator: 'AND_SEGMENT_OPERATOR',
      segments: [
        { ...users, constraints: [entity] },
        { key: 'germans', matchType: 'ALL_SEGMENT_MATCH_TYPE' },
      ],
      distributions: [
        { ruleId: rule, variantId: red, variantKey: 'red', variantAttachment: '{"a":1}', rollout: 33.33 },
        { variantKey: 'blue', variantAttachment: '', rollout: 66.6 },
      ],
    })
    t.match(on?.rollouts, [
      {
        type: 'SEGMENT_ROLLOUT_TYPE',
        rank: 1,
        segment: { value: false, segmentOperator: 'OR_SEGMENT_OPERATOR', segments: [{ key: 'users' }] },
      },
      { type: 'THRESHOLD_ROLLOUT_TYPE', rank: 2, threshold: { percentage: 12.5, value: true } },
    ])
    t.notOk('defaultVariant' in (on ?? {}))
  })

  await t.test('dates in a snapshot are full times, unlike on other routes', async (t) => {
    const team = maker(service, 'dates')
    await team.namespace()
    const given = [
      ['DATETIME', 'lt', '2024-03-01', '2024-03-01T00:00:00Z'],
      ['DATETIME', 'eq', '0000-01-01', '0000-01-01T00:00:00Z'],
      ['DATETIME', 'gte', '2024-02-29T23:30:00-01:00', '2024-03-01T00:30:00Z'],
      ['DATETIME', 'present', '', ''],
      ['STRING', 'eq', '2024-03-01', '2024-03-01'],
      ['STRING', 'isoneof', '["2024-03-01"]', '["2024-03-01"]'],
    ] as const
    await team.segment(
      'times',
      given.map(([type, operator, value], n) => ({
        type: `${type}_COMPARISON_TYPE`,
        property: `p${n}`,
        operator,
        value,
      })),
    )
    await team.boolean('dated')
    await team.bySegment('dated', { segmentKey: 'times' })
    for (const headers of [{}, newest]) {
      const [flag] = (await get(headers, 'dates')).json.flags
      const [{ segment }] = flag!.rollouts as unknown as readonly [{ segment: { segments: readonly [Constrained] } }]
      t.strictSame(
        valuesOf(segment.segments[0]),
        given.map(([, , , shown]) => shown),
      )
    }
    const stored = (await request<Constrained>('GET', '/api/v1/namespaces/dates/segments/times')).json
    t.strictSame(
      valuesOf(stored),
      given.map(([, , value, shown]) => (value.length === 10 ? value : shown)),
    )
  })

  await t.test('clients of an earlier version get their own format, with its own tag', async (t) => {
    const forms: readonly [Record<string, string>, string, boolean][] = [
      [{}, 'UNKNOWN', false],
      [{ 'x-service-accept-server-version': 'new' }, 'UNKNOWN', false],
      [{ 'x-service-accept-server-version': '1.37.9' }, 'UNKNOWN', false],
      [{ 'x-service-accept-server-version': '1.38.0' }, 'ENTITY_ID', false],
      [{ 'x-service-accept-server-version': '1.46.9' }, 'ENTITY_ID', false],
      [{ 'x-acme-accept-server-version': '1.47.0' }, 'ENTITY_ID', true],
      [{ 'x-acme-accept-server-version': '1.50.0', 'x-service-accept-server-version': '1.38.1' }, 'ENTITY_ID', false],
      [newest, 'ENTITY_ID', true],
    ]
    const tags = new Set<string>()
    for (const [headers, type, defaultVariant] of forms) {
      const { json, headers: sent } = await get(headers)
      const [thirds] = json.flags
      t.equal('defaultVariant' in thirds!, defaultVariant, JSON.stringify(headers))
      t.match(thirds?.rules, [{ segments: [{ constraints: [{ type: `${type}_CONSTRAINT_COMPARISON_TYPE` }] }] }])
      tags.add(String(sent['etag']))
    }
    t.equal(tags.size, 3)
    for (const tag of tags) t.match(tag, /^"[^"]{1,16}"$/)
  })

  await t.test('a snapshot answers 304 if its tag is anywhere in the If-None-Match of the client', async (t) => {
    const tag = await tagOf()
    for (const held of [tag, `W/${tag}`, tag.slice(1, -1), `"x", ${tag}`, `${'"old", '.repeat(200)}${tag}, "z"`, '*']) {
      const { status, text, headers } = await get({ ...newest, 'if-none-match': held })
      t.equal(status, 304, held.slice(-60))
      t.equal(text, '')
      t.equal(headers['etag'], tag)
    }
    t.equal((await get({ ...newest, 'if-none-match': '"other"' })).status, 200)
  })

  await t.test('the tag of a snapshot changes only with flags and segments, and is never used again', async (t) => {
    const seen = new Set([await tagOf()])
    const moves = async (what: string, work: () => Promise<unknown>) => {
      await work()
      const tag = await tagOf()
      t.notOk(seen.has(tag), what)
      seen.add(tag)
    }
    await moves('off', () => make.updateFlag('on', { enabled: false }))
    await moves('on again', () => make.updateFlag('on', { enabled: true }))
    await moves('a segment', () => request('PUT', '/api/v1/segments/users', { name: 'new' }))
    await moves('a flag more', () => make.boolean('more'))
    await moves('a flag less', () => request('DELETE', '/api/v1/flags/more'))
    const before = await tagOf()
    await request('PUT', '/api/v1/namespaces/default', { name: 'Other' })
    await make.updateFlag('on', { enabled: true })
    await maker(service, 'elsewhere').namespace()
    await maker(service, 'elsewhere').boolean('f')
    t.equal(await tagOf(), before, 'the namespace’s own name, a PUT of the same, and another namespace leave it')
    await service.reopen()
    t.equal(await tagOf(), before, 'and so does a restart')
  })

  await t.test('the snapshot of an unknown namespace has no flags and no tag', async (t) => {
    const { status, json, headers } = await get(newest, 'nowhere')
    t.equal(status, 200)
    t.same(json, { namespace: { key: 'nowhere' }, flags: [] })
    t.equal(headers['etag'], undefined)
    const again = maker(service, 'again')
    const tags = new Set<unknown>()
    for (let life = 0; life < 3; life++) {
      await again.namespace()
      tags.add((await get(newest, 'again')).headers['etag'])
      await request('DELETE', '/api/v1/namespaces/again')
      t.equal((await get(newest, 'again')).headers['etag'], undefined)
    }
    t.equal(tags.size, 3)
  })

  await t.test('a long snapshot is compressed, and HEAD has no body', async (t) => {
    const { headers } = await get({ ...newest, 'accept-encoding': 'gzip' })
    t.equal(headers['content-encoding'], 'gzip')
    t.match(headers['vary'], /accept-encoding/)
    const head = await request('HEAD', `${S}default`, undefined, newest)
    t.equal(head.status, 200)
    t.equal(head.text, '')
    t.equal(head.headers['etag'], await tagOf())
  })
})

await t.test('a snapshot is the same text whether it is created in one chunk or in many', async (t) => {
  const service = await startService(t)
  const make = maker(service)
  await make.segment('wide', [{ property: 'p', operator: 'eq', value: 'ü'.repeat(30_000) }])
  for (let n = 0; n < 12; n++) {
    await make.variantFlag(`flag-${n}`)
    const id = await make.variant(`flag-${n}`, 'v', JSON.stringify('é'.repeat(20_000)))
    await make.rule(`flag-${n}`, { segmentKey: 'wide' }, { [id]: 50 })
    await make.bySegment(`flag-${n}`, { segmentKey: 'wide' })
  }
  const get = (headers: Record<string, string> = {}, method = 'GET') =>
    service.request<Snapshot>(method, `${S}default`, undefined, { ...newest, ...headers })
  const whole = await get()
  t.equal(whole.status, 200)
  t.equal(whole.headers['content-length'], String(Buffer.byteLength(whole.text)))
  t.equal(whole.json.flags.length, 12)
  t.match(whole.json.flags[11], {
    key: 'flag-11',
    rules: [
      {
        segments: [{ key: 'wide', constraints: [{ value: 'ü'.repeat(30_000) }] }],
        distributions: [{ variantKey: 'v' }],
      },
    ],
    rollouts: [{ segment: { value: true, segments: [{ key: 'wide' }] } }],
  })
  t.equal((await get({ 'accept-encoding': 'gzip' })).text, whole.text)
  t.same(
    (await Promise.all(Array.from({ length: 5 }, () => get()))).map(({ text }) => text === whole.text),
    Array.from({ length: 5 }, () => true),
  )
  t.equal((await get({ 'if-none-match': String(whole.headers['etag']) })).status, 304)
  const head = await get({}, 'HEAD')
  t.same([head.status, head.text, head.headers['etag']], [200, '', whole.headers['etag']])

  await t.test('a snapshot that is too large to cache is created for each client', async (t) => {
    const kept = keptChunks(100)
    const make = () => [Buffer.alloc(60), Buffer.alloc(30)]
    const first = kept('a', '1', make)
    t.equal(kept('a', '1', make), first, 'made once for all who ask')
    t.equal((await first)?.length, 2)
    t.equal(await kept('b', '1', () => [Buffer.alloc(60), Buffer.alloc(60)]), undefined)
    t.equal(kept('a', '1', make), first)
    t.equal((await kept('c', '1', make))?.length, 2)
    t.not(kept('a', '1', make), first, 'the one asked for longest ago went')
    t.not(kept('a', '2', make), await first, 'another state is another text')
  })

  await t.test('a snapshot that could not be created is tried again for the next client', async (t) => {
    const kept = keptChunks(100)
    const broken = function* () {
      yield Buffer.alloc(10)
      throw new Error('broken')
    }
    await t.rejects(kept('a', '1', broken), { message: 'broken' })
    t.equal((await kept('a', '1', () => [Buffer.alloc(10)]))?.length, 1)
  })
})

import t from 'tap'
import { startService } from '../start.ts'
import { maker } from './flags.ts'

type Part = Readonly<Record<string, unknown>>
type Refused = {
  readonly code: number
  readonly message: string
  readonly details: readonly [{ readonly value: { readonly reason: string } }]
}

const LIMIT = 1_048_576
const BATCHES = ['/evaluate/v1/batch', '/api/v1/batch-evaluate', '/api/v1/namespaces/default/batch-evaluate']
const OFREP = '/ofrep/v1/evaluate/flags'
const reasonOf = ({ status, json }: { readonly status: number; readonly json: Part }) =>
  `${status} ${(json as unknown as Refused).details?.[0]?.value.reason ?? ''}`

/** Starts a service with answers of at most 1 MiB and variant flags whose answers have 100 KB. */
const tight = async (t: Parameters<typeof startService>[0], flags: number) => {
  const service = await startService(t, { 'server.max_response_bytes': String(LIMIT) })
  const make = maker(service)
  await make.segment('all')
  for (let n = 0; n < flags; n++) {
    const key = `flag-${String(n).padStart(2, '0')}`
    await make.variantFlag(key)
    const id = await make.variant(key, 'large', JSON.stringify('x'.repeat(100_000)))
    await make.rule(key, { segmentKey: 'all' }, { [id]: 100 })
  }
  return { ...service, make }
}
const asked = (count: number, more: Part = {}) =>
  Array.from({ length: count }, () => ({ flagKey: 'flag-00', entityId: 'e', ...more }))

await t.test('a batch may have at most 1000 requests', async (t) => {
  const service = await startService(t)
  await maker(service).variantFlag('flag-00')
  for (const path of BATCHES) {
    t.equal((await service.request('POST', path, { requests: asked(1000) })).status, 200, path)
    const { status, json } = await service.request('POST', path, { requests: asked(1001) })
    t.equal(status, 400, path)
    t.match(json, { message: 'invalid field requests: must contain at most 1000 elements' })
  }
})

await t.test('an answer that contains many parts is never larger than the limit', async (t) => {
  const { request, make } = await tight(t, 12)
  for (const path of BATCHES) {
    t.equal((await request('POST', path, { requests: asked(9) })).status, 200, path)
    for (const count of [11, 400]) {
      const { status, json } = await request('POST', path, { requests: asked(count) })
      t.equal(status, 400, path)
      t.match(json, { code: 3, details: [{ value: { reason: 'answer_too_large' } }] })
    }
  }
  const echoed = { requests: asked(21, { context: { a: 'ü'.repeat(30_000) }, flagKey: 'small' }) }
  await make.variantFlag('small')
  t.equal(
    reasonOf(await request('POST', BATCHES[1]!, echoed)),
    '400 answer_too_large',
    'the echoed context counts, in bytes',
  )

  const bulk = (flags: string) => request('POST', OFREP, { context: { targetingKey: 'e', flags } })
  t.equal((await bulk('flag-00,flag-01')).status, 200)
  const refused = await bulk('')
  t.equal(refused.status, 400)
  t.match(refused.json, { errorCode: 'GENERAL', errorDetails: /answer is larger than 1048576 bytes/ })
  t.equal(
    (await bulk(Array.from({ length: 12 }, (_, n) => `flag-${String(n).padStart(2, '0')}`).join(','))).status,
    400,
  )
})

await t.test('a page of a list ends before the size limit, and the next page begins with the next item', async (t) => {
  const { request, make } = await tight(t, 12)
  const N = '/api/v1/namespaces/default'
  const description = 'd'.repeat(10_000)
  for (let n = 0; n < 120; n++) await request('POST', `${N}/segments`, { key: `s${n}`, name: 's', description })
  for (let n = 0; n < 120; n++) await request('POST', '/api/v1/namespaces', { key: `n${n}`, name: 'n', description })
  await make.boolean('rolled')
  for (let n = 0; n < 60; n++)
    await request('POST', `${N}/flags/rolled/rollouts`, { description, threshold: { percentage: 1, value: true } })

  for (const at of ['', '&at=now']) {
    const moment = at === '' ? '' : `&at=${new Date().toISOString()}`
    for (const [path, member, count] of [
      [`${N}/flags`, 'flags', 13],
      [`${N}/segments`, 'segments', 121],
      ['/api/v1/namespaces', 'namespaces', 121],
      [`${N}/flags/rolled/rollouts`, 'rollouts', 60],
    ] as const) {
      const seen: unknown[] = []
      let [token, pages] = ['', 0]
      do {
        const page = await request<Record<string, readonly { key?: string; id?: string }[]>>(
          'GET',
          `${path}?pageToken=${token}${moment}`,
        )
        t.equal(page.status, 200, path)
        t.ok(page.text.length <= LIMIT, `${path}: ${page.text.length} bytes`)
        t.equal(page.json['totalCount'], count)
        seen.push(...page.json[member]!.map(({ key, id }) => key ?? id))
        token = page.json['nextPageToken'] as unknown as string
        pages++
      } while (token !== '' && pages < 200)
      t.ok(pages > 1, `${path} in ${pages} pages`)
      t.equal(new Set(seen).size, count, path)
      t.equal(seen.length, count, path)
    }
  }
})

await t.test('a page has at least one item, however large it is', async (t) => {
  const { request, make } = await tight(t, 0)
  for (const key of ['a', 'b']) {
    await make.variantFlag(key)
    for (const name of ['x', 'y']) await make.variant(key, name, JSON.stringify('x'.repeat(900_000)))
  }
  const first = await request<{ flags: Part[]; nextPageToken: string }>('GET', '/api/v1/flags')
  t.equal(first.json.flags.length, 1)
  const second = await request<{ flags: Part[]; nextPageToken: string }>(
    'GET',
    `/api/v1/flags?pageToken=${first.json.nextPageToken}`,
  )
  t.match(second.json, { flags: [{ key: 'b' }], nextPageToken: '' })
})

await t.test('a body with more than 50,000 members and items is refused before it is parsed', async (t) => {
  const { request } = await startService(t)
  const path = '/evaluate/v1/boolean'
  const said = async (body: string) => {
    const { status, json } = await request('POST', path, body)
    return { status, message: json['message'] }
  }
  const many = { status: 400, message: 'invalid field body: must have at most 50000 members' }
  // The list itself counts as one member.
  const items = (count: number, item = '1') => `{"a":[${Array.from({ length: count }, () => item).join(' , ')}]}`
  t.match(await said(items(49_999)), { status: 404 })
  t.same(await said(items(50_000)), many)
  t.same(await said(items(50_000, '[ ]')), many)
  t.match(await said(items(49_999, '{ }')), { status: 404 })
  t.match(await said(items(24_999, '{"b":2}')), { status: 404 })
  t.same(await said(items(25_000, '{"b":2}')), many)
  t.match(
    await said(JSON.stringify({ flagKey: '[{,"\\'.repeat(100_000) })),
    { status: 404 },
    'within texts nothing counts',
  )
  t.same(await said(items(500_000).slice(0, -2)), many, 'before it is parsed')
})

await t.test('context values, entity ids and targeting keys have at most 65,536 bytes', async (t) => {
  const service = await startService(t)
  const make = maker(service)
  await make.segment('all')
  await make.boolean('on', true)
  await make.variantFlag('colour')
  const most = 'must be at most 65536 bytes'
  const values = {
    fits: 'x'.repeat(65_536),
    exact: 'é'.repeat(32_768),
    long: 'x'.repeat(65_537),
    wide: 'é'.repeat(32_769),
    list: Array.from({ length: 32_768 }, () => 1),
  }
  const one = { flagKey: 'on', entityId: 'e' }
  const colour = { flagKey: 'colour', entityId: 'e' }
  const ways = [
    ['/evaluate/v1/boolean', one, '', (body: Part) => body],
    ['/evaluate/v1/variant', colour, '', (body: Part) => body],
    ['/evaluate/v1/batch', one, 'requests[0].', (body: Part) => ({ requests: [body] })],
    ['/api/v1/evaluate', colour, '', (body: Part) => body],
    ['/api/v1/namespaces/default/evaluate', colour, '', (body: Part) => body],
    ['/api/v1/batch-evaluate', colour, 'requests[0].', (body: Part) => ({ requests: [body] })],
  ] as const
  for (const [path, asking, under, bodyOf] of ways) {
    const said = async (more: Part) => service.request('POST', path, bodyOf({ ...asking, ...more }))
    for (const value of [values.fits, values.exact])
      t.equal((await said({ context: { a: value }, entityId: value })).status, 200, path)
    for (const value of [values.long, values.wide, values.list]) {
      const { status, json } = await said({ context: { a: value } })
      t.equal(status, 400, path)
      t.match(json, { message: `invalid field ${under}context.a: ${most}` })
    }
    const { status, json } = await said({ entityId: values.long })
    t.equal(status, 400, path)
    t.match(json, { message: `invalid field ${under}entityId: ${most}` })
  }
  for (const path of [OFREP, `${OFREP}/on`]) {
    t.equal(
      (await service.request('POST', path, { context: { targetingKey: values.fits, a: values.fits } })).status,
      200,
    )
    for (const name of ['a', 'targetingKey']) {
      const { status, json } = await service.request('POST', path, {
        context: { targetingKey: 'e', [name]: values.long },
      })
      t.equal(status, 400, path)
      t.match(json, { errorCode: 'INVALID_CONTEXT', errorDetails: `invalid field context.${name}: ${most}` })
    }
  }
})

await t.test('a context with more than 1,000 members is refused before any is read', async (t) => {
  const service = await startService(t)
  const make = maker(service)
  await make.segment('all')
  await make.boolean('on', true)
  await make.variantFlag('colour')
  const most = 'must have at most 1000 members'
  const members = (count: number, value: unknown) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [n === 0 ? 'targetingKey' : `k${n}`, value]))
  const ways = [
    ['/evaluate/v1/boolean', { flagKey: 'on', entityId: 'e' }, '', (body: Part) => body],
    ['/evaluate/v1/variant', { flagKey: 'colour', entityId: 'e' }, '', (body: Part) => body],
    ['/evaluate/v1/batch', { flagKey: 'on', entityId: 'e' }, 'requests[0].', (body: Part) => ({ requests: [body] })],
    ['/api/v1/evaluate', { flagKey: 'colour', entityId: 'e' }, '', (body: Part) => body],
    ['/api/v1/batch-evaluate', { flagKey: 'colour' }, 'requests[0].', (body: Part) => ({ requests: [body] })],
  ] as const
  for (const [path, asking, under, bodyOf] of ways) {
    const said = (context: Part) => service.request('POST', path, bodyOf({ entityId: 'e', ...asking, context }))
    t.equal((await said(members(1000, 1))).status, 200, path)
    for (const value of ['v', null, { a: 1 }]) {
      const { status, json } = await said(members(1001, value))
      t.equal(status, 400, path)
      t.match(json, { message: `invalid field ${under}context: ${most}` })
    }
  }
  for (const path of [OFREP, `${OFREP}/on`]) {
    t.equal((await service.request('POST', path, { context: members(1000, 'e') })).status, 200, path)
    const { status, json } = await service.request('POST', path, { context: members(1001, 'e') })
    t.equal(status, 400, path)
    t.match(json, { errorCode: 'INVALID_CONTEXT', errorDetails: `invalid field context: ${most}` })
  }
})

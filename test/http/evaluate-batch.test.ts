import t from 'tap'
import { startService } from '../start.ts'
import { refuses } from './api/refusals.ts'
import { maker } from './flags.ts'

type Said = Readonly<Record<string, unknown>>
type Batch = Said & {
  readonly responses: readonly (Said & { readonly booleanResponse?: Said; readonly variantResponse?: Said })[]
}
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4/
const N = '/api/v1/namespaces/default'

type Answer = { readonly match: boolean }
type Answers = { readonly responses: readonly Answer[] }

await t.test('a batch evaluates several flags, also in the form of earlier versions', async (t) => {
  const service = await startService(t)
  const { request } = service
  const refused = refuses(service)
  const make = maker(service)
  await make.segment('germans', [{ property: 'country', operator: 'eq', value: 'de' }])
  await make.segment('everybody')
  await make.boolean('on', true)
  await make.variantFlag('colour')
  const red = await make.variant('colour', 'red', '{"hex":"f00"}')
  await make.rule(
    'colour',
    { segmentKeys: ['germans', 'everybody'], segmentOperator: 'AND_SEGMENT_OPERATOR' },
    { [red]: 100 },
  )
  const german = { entityId: 'e', context: { country: 'de' } }

  await t.test('a batch is answered in order, with one entry for each flag, also for a missing one', async (t) => {
    const requests = [
      { flagKey: 'colour', ...german, requestId: 'one' },
      { flagKey: 'nope', namespaceKey: '' },
      { flagKey: 'on' },
      { flagKey: 'on', namespaceKey: 'nowhere' },
    ]
    const { status, json } = await request<Batch>('POST', '/evaluate/v1/batch', { requests })
    t.equal(status, 200)
    t.match(json['requestId'], uuid)
    t.equal(typeof json['requestDurationMillis'], 'number')
    const [colour, nope, on, nowhere] = json.responses
    t.same(Object.keys(colour!), ['type', 'variantResponse'])
    const said = {
      match: true,
      variantKey: 'red',
      variantAttachment: '{"hex":"f00"}',
      segmentKeys: ['germans', 'everybody'],
      requestId: 'one',
    }
    t.match(colour, {
      type: 'VARIANT_EVALUATION_RESPONSE_TYPE',
      variantResponse: { ...said, flagKey: 'colour', timestamp: /Z$/ },
    })
    const missing = { type: 'ERROR_EVALUATION_RESPONSE_TYPE' }
    const reason = 'NOT_FOUND_ERROR_EVALUATION_REASON'
    t.same(nope, { ...missing, errorResponse: { flagKey: 'nope', namespaceKey: 'default', reason } })
    t.same(nowhere, { ...missing, errorResponse: { flagKey: 'on', namespaceKey: 'nowhere', reason } })
    t.match(on, { type: 'BOOLEAN_EVALUATION_RESPONSE_TYPE', booleanResponse: { enabled: true, flagKey: 'on' } })
    t.equal(on?.booleanResponse?.['requestId'], '', 'nested ids are kept as given')
  })

  await t.test('a batch has 0 to 1000 requests, and a long answer is compressed', async (t) => {
    t.match((await request('POST', '/evaluate/v1/batch', { requestId: 'mine' })).json, {
      requestId: 'mine',
      responses: [],
    })
    const many = (length: number) => ({ requests: Array.from({ length }, () => ({ flagKey: 'on' })) })
    const { json } = await request<Batch>('POST', '/evaluate/v1/batch', many(1000))
    t.equal(json.responses.length, 1000)
    const tooMany = 'invalid field requests: must contain at most 1000 elements'
    await refused(t, ['POST', '/evaluate/v1/batch', many(1001)], tooMany)
    const { headers } = await request('POST', '/evaluate/v1/batch', many(50), { 'accept-encoding': 'br, gzip;q=0.5' })
    t.equal(headers['content-encoding'], 'gzip')
    const small = await request('POST', '/evaluate/v1/batch', many(1), { 'accept-encoding': 'gzip' })
    t.equal(small.headers['content-encoding'], undefined)
  })

  await t.test('a batch with an item that is not an object is refused, and "explain" is ignored', async (t) => {
    const wrong = 'request body is not valid: requests[1] must be an object'
    await refused(t, ['POST', '/evaluate/v1/batch', { requests: [{ flagKey: 'on' }, 'x'] }], wrong, 'malformed_body')
    const { json } = await request<Batch>('POST', '/evaluate/v1/batch?explain', { requests: [{ flagKey: 'on' }] })
    t.notOk('trace' in (json.responses[0]?.booleanResponse ?? {}))
  })

  await t.test('a batch as of a past moment evaluates the flags of that moment', async (t) => {
    const { headers } = await request('GET', '/api/v1/flags/on')
    t.ok(headers['etag'])
    const before = await request('PUT', '/api/v1/flags/on', { name: 'now', enabled: true })
    await make.updateFlag('on', { enabled: false })
    const at = String(before.headers['event-position'])
    const asked = { requests: [{ flagKey: 'on' }, { flagKey: 'nope' }, { flagKey: 'colour', ...german }] }
    const { json } = await request<Batch>('POST', `/evaluate/v1/batch?at=${at}`, asked)
    t.match(json.responses, [
      { booleanResponse: { enabled: true } },
      { errorResponse: { flagKey: 'nope' } },
      { variantResponse: { match: true } },
    ])
    await make.updateFlag('colour', { enabled: false })
    const colour = { flagKey: 'colour', ...german }
    const older = async (query: string) => [
      (await request<Answer>('POST', `/api/v1/evaluate${query}`, colour)).json.match,
      (await request<Answers>('POST', `/api/v1/batch-evaluate${query}`, { requests: [colour] })).json.responses[0]
        ?.match,
    ]
    t.same(await older(`?at=${at}`), [true, true], 'in the older form too')
    t.same(await older(''), [false, false])
    await make.updateFlag('colour', { enabled: true })
    await make.updateFlag('on', { enabled: true })
  })

  await t.test('an evaluation in the earlier form returns the entity, its context and the first segment', async (t) => {
    const asked = { flagKey: 'colour', entityId: 'e', context: { country: 'de', age: 7, none: null } }
    for (const path of ['/api/v1/evaluate', `${N}/evaluate`]) {
      const { status, json } = await request('POST', path, {
        ...asked,
        namespaceKey: path === '/api/v1/evaluate' ? '' : 'ignored',
      })
      t.equal(status, 200)
      const { timestamp, requestDurationMillis, requestId, ...rest } = json
      t.match(timestamp, /Z$/)
      t.equal(typeof requestDurationMillis, 'number')
      t.match(requestId, uuid)
      t.same(rest, {
        entityId: 'e',
        requestContext: { country: 'de', age: '7', none: '' },
        match: true,
        flagKey: 'colour',
        segmentKey: 'germans',
        value: 'red',
        attachment: '{"hex":"f00"}',
        reason: 'MATCH_EVALUATION_REASON',
        namespaceKey: 'default',
        segmentKeys: ['germans', 'everybody'],
      })
    }
    const { json } = await request('POST', '/api/v1/evaluate', { flagKey: 'colour', entityId: 'e', requestId: 'r' })
    t.match(json, {
      requestId: 'r',
      match: false,
      segmentKey: '',
      segmentKeys: [],
      value: '',
      reason: 'UNKNOWN_EVALUATION_REASON',
    })
  })

  await t.test('an evaluation in the earlier form requires a flag and an entity', async (t) => {
    const E = '/api/v1/evaluate'
    await refused(t, ['POST', E, { entityId: 'e' }], 'invalid field flagKey: must not be empty')
    await refused(t, ['POST', E, { flagKey: 'colour' }], 'invalid field entityId: must not be empty')
    await refused(t, ['POST', E, { flagKey: 'nope', entityId: 'e' }], 'flag "default/nope" not found', 'not_found')
    await refused(
      t,
      ['POST', E, { flagKey: 'on', entityId: 'e' }],
      'flag type BOOLEAN_FLAG_TYPE invalid',
      'wrong_flag_type',
    )
    const at = 'invalid field at: must be an RFC 3339 timestamp or a position'
    await refused(t, ['POST', `${E}?at=x`, {}], at, 'invalid_at')
  })

  await t.test('a batch in the earlier form evaluates flags of one namespace', async (t) => {
    const E = '/api/v1/batch-evaluate'
    const requests = [
      { flagKey: 'colour', ...german, requestId: 'a', namespaceKey: 'default' },
      { flagKey: 'colour', entityId: '' },
    ]
    const { json } = await request<Batch>('POST', E, { requestId: 'r', requests })
    t.match(json, {
      requestId: 'r',
      responses: [
        { requestId: 'a', value: 'red' },
        { requestId: '', match: false },
      ],
    })
    for (const { requestDurationMillis, namespaceKey } of json.responses)
      t.same([requestDurationMillis, namespaceKey], [0, 'default'])
    const other = 'invalid field namespace_key: must be the same for all requests if specified'
    await refused(t, ['POST', E, { requests: [{ flagKey: 'colour', namespaceKey: 'x' }] }], other)
    await refused(t, ['POST', `${N}/batch-evaluate`, { requests: [{ flagKey: 'colour', namespaceKey: 'x' }] }], other)
    const withMissing = { requests: [{ flagKey: 'nope' }, { flagKey: 'colour', ...german }] }
    await refused(t, ['POST', E, withMissing], 'flag "default/nope" not found', 'not_found')
    const { json: found } = await request<Batch>('POST', `${N}/batch-evaluate`, {
      ...withMissing,
      exclude_not_found: true,
    })
    t.match(found.responses, [{ flagKey: 'colour', match: true }])
    t.equal(found.responses.length, 1)
  })
})

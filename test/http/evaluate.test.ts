import t from 'tap'
import { exactText } from '../../src/base/exact-json.ts'
import { booleanBucket } from '../../src/evaluation/bucket.ts'
import { onCluster } from '../cluster/own.ts'
import { startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { refuses } from './api/refusals.ts'
import { maker } from './flags.ts'

type Said = Readonly<Record<string, unknown>> & { readonly trace?: readonly Readonly<Record<string, unknown>>[] }
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const B = '/evaluate/v1/boolean'
const V = '/evaluate/v1/variant'

await t.test('a request evaluates a single flag', async (t) => {
  const clock = virtualClock(new Date().toISOString())
  const service = await startService(t, { 'metrics.flag_labels': 'true' }, { clock })
  const { request } = service
  const refused = refuses(service)
  const make = maker(service)
  const [country] = await make.segment('germans', [{ property: 'country', operator: 'eq', value: 'de' }])
  await make.segment('everybody')
  await make.boolean('simple', true)
  await make.boolean('half')
  const segmentRollout = await make.bySegment('half', { segmentKey: 'germans' })
  const threshold = await make.threshold('half', 13)
  await make.variantFlag('checkout-v2')
  const [small, middle, large] = [
    await make.variant('checkout-v2', 'small'),
    await make.variant('checkout-v2', 'middle', '{"a": [1, 2]}'),
    await make.variant('checkout-v2', 'large'),
  ]
  const rule = await make.rule(
    'checkout-v2',
    { segmentKeys: ['everybody', 'germans'] },
    { [small]: 10, [middle]: 20, [large]: 70 },
  )

  const ask = async (path: string, body: unknown, headers?: Record<string, string>) => {
    const { status, json, text } = await request<Said>('POST', path, body, headers)
    if (status !== 200) throw new Error(text)
    return json
  }

  await t.test('the answer for a Boolean flag has exactly the documented members', async (t) => {
    const answer = await request<Said>('POST', B, { flagKey: 'simple', entityId: 'x', requestId: 'r"1' })
    const { timestamp, requestDurationMillis, ...rest } = answer.json
    t.match(timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    t.equal(Date.parse(String(timestamp)), clock.now().getTime() - 1, 'the time of the service')
    t.equal(typeof requestDurationMillis, 'number')
    t.same(rest, {
      enabled: true,
      reason: 'DEFAULT_EVALUATION_REASON',
      requestId: 'r"1',
      flagKey: 'simple',
      segmentKeys: [],
    })
    t.equal(answer.headers['content-type'], 'application/json')
    t.equal(answer.headers['content-length'], String(answer.text.length))
    t.match(answer.headers['x-request-id'], uuid)
    t.equal(answer.headers['x-content-type-options'], 'nosniff')
    t.equal(answer.headers['cache-control'], undefined)
  })

  await t.test('a request id is created if the client sends none', async (t) => {
    for (const requestId of [undefined, '', null]) {
      const { json, headers } = await request<Said>('POST', B, { flagKey: 'simple', requestId })
      t.match(json['requestId'], uuid)
      t.equal(json['requestId'], headers['x-request-id'])
    }
    const { json, headers } = await request<Said>('POST', B, { flagKey: 'simple' }, { 'x-request-id': 'mine' })
    t.equal(headers['x-request-id'], 'mine')
    t.match(json['requestId'], uuid)
  })

  await t.test('segments are evaluated before thresholds, and a threshold uses the bucket of the entity', async (t) => {
    t.match(await ask(B, { flagKey: 'half', entityId: 'alice' }), {
      enabled: false,
      reason: 'DEFAULT_EVALUATION_REASON',
    })
    const inside = await ask(B, { flagKey: 'half', entityId: 'alice', context: { country: 'de' } })
    t.match(inside, { enabled: true, reason: 'MATCH_EVALUATION_REASON', segmentKeys: ['germans'] })
    const answers = []
    for (let n = 0; n < 40; n++) answers.push(await ask(B, { flag_key: 'half', entity_id: `user-${n}` }))
    const hits = answers.filter(({ enabled }) => enabled)
    t.ok(hits.length > 0 && hits.length < 20, `${hits.length} of 40 in 13 %`)
    for (const hit of hits) t.match(hit, { reason: 'MATCH_EVALUATION_REASON', segmentKeys: [] })
  })

  await t.test('a variant is chosen by bucket, and returned with its attachment and segments', async (t) => {
    const {
      timestamp: _,
      requestDurationMillis: __,
      ...alice
    } = await ask(V, { flagKey: 'checkout-v2', entityId: 'alice', requestId: 'r' })
    const same = {
      match: true,
      reason: 'MATCH_EVALUATION_REASON',
      flagKey: 'checkout-v2',
      segmentKeys: ['everybody'],
      requestId: 'r',
    }
    t.same(alice, { ...same, variantKey: 'middle', variantAttachment: '{"a":[1,2]}' })
    const carol = await ask(V, { flagKey: 'checkout-v2', entityId: 'carol', context: { country: 'de' } })
    t.match(carol, { variantKey: 'large', variantAttachment: '', segmentKeys: ['everybody', 'germans'] })
  })

  await t.test('context values are converted to text', async (t) => {
    const texts: readonly [unknown, string][] = [
      [1.5, '1.5'],
      [1e21, '1e+21'],
      [9007199254740993n, '9007199254740993'],
      [{ ids: [18446744073709551617n, 9007199254740993n] }, '{"ids":[18446744073709551617,9007199254740993]}'],
      [true, 'true'],
      [null, ''],
      [['a', 1], '["a",1]'],
      [{ b: 1 }, '{"b":1}'],
    ]
    for (const [n, [value, text]] of texts.entries()) {
      const operator = text === '' ? 'empty' : 'eq'
      await make.segment(`value-${n}`, [{ property: 'p', operator, value: text }])
      await make.boolean(`value-${n}`)
      await make.bySegment(`value-${n}`, { segmentKey: `value-${n}` })
      t.match(
        await ask(B, exactText({ flagKey: `value-${n}`, context: { p: value } })),
        { enabled: true, segmentKeys: [`value-${n}`] },
        text,
      )
      t.match(await ask(B, { flagKey: `value-${n}`, context: { p: 'other' } }), { enabled: false })
    }
    await make.segment('customer', [
      { property: 'id', operator: 'eq', type: 'NUMBER_COMPARISON_TYPE', value: '9007199254740992' },
    ])
    await make.boolean('of-customer')
    await make.bySegment('of-customer', { segmentKey: 'customer' })
    for (const id of ['9007199254740992', '9007199254740993'])
      t.equal((await ask(B, `{"flagKey":"of-customer","context":{"id":${id}}}`))['enabled'], id.endsWith('2'), id)
  })

  await t.test('an invalid evaluation request is refused', async (t) => {
    const large = `{"flagKey":"simple","context":{"a":[${Array(2501).fill('9007199254740993').join()}]}}`
    await refused(t, ['POST', B, large], 'invalid field body: must have at most 2500 integers beyond 2^53')
    await refused(t, ['POST', B, {}], 'flag "default/" not found', 'not_found')
    await refused(t, ['POST', B, { flagKey: 'nope', namespaceKey: 'none' }], 'flag "none/nope" not found', 'not_found')
    await refused(t, ['POST', V, { flagKey: 'simple' }], 'flag type BOOLEAN_FLAG_TYPE invalid', 'wrong_flag_type')
    await refused(t, ['POST', B, { flagKey: 'checkout-v2' }], 'flag type VARIANT_FLAG_TYPE invalid', 'wrong_flag_type')
    const wrong = 'request body is not valid: context must be an object'
    for (const context of ['x', 1, []])
      await refused(t, ['POST', B, { flagKey: 'simple', context }], wrong, 'malformed_body')
    await refused(t, ['POST', B, { flagKey: 1 }], 'request body is not valid: flagKey must be text', 'malformed_body')
    const at = 'invalid field at: must be an RFC 3339 timestamp or a position'
    await refused(t, ['POST', `${B}?at=yesterday`, { flagKey: 'simple' }], at, 'invalid_at')
  })

  await t.test('explain adds the steps of the evaluation and changes nothing else', async (t) => {
    const hit = await ask(`${B}?explain=true`, { flagKey: 'half', entityId: 'alice', context: { country: 'fr' } })
    const failedConstraintIds = [country]
    const constraint = { type: 'STRING_COMPARISON_TYPE', property: 'country', operator: 'eq', value: 'de' }
    const failed = { failedConstraintIds, failedConstraints: [{ id: country, segmentKey: 'germans', ...constraint }] }
    const tried = { kind: 'rollout', matched: false, value: true, segmentKeys: [] }
    const segmentOperator = 'OR_SEGMENT_OPERATOR'
    const asked = { askedSegmentKeys: ['germans'], segmentOperator, ...failed }
    t.same(hit.trace, [
      { ...tried, id: segmentRollout.id, rank: 1, type: 'SEGMENT_ROLLOUT_TYPE', ...asked },
      {
        ...tried,
        id: threshold.id,
        rank: 2,
        failedConstraintIds: [],
        type: 'THRESHOLD_ROLLOUT_TYPE',
        threshold: 13,
        bucket: booleanBucket('alice', 'half'),
      },
    ])
    t.equal(hit['untried'], 0)
    const german = await ask(`${B}?explain`, { flagKey: 'half', context: { country: 'de' } })
    t.match(german, { enabled: true, trace: [{ matched: true, failedConstraints: [] }], untried: 1 })
    const explained = await ask(`${V}?explain`, { flagKey: 'checkout-v2', entityId: 'alice' })
    const distributions = Object.entries({ small: 10, middle: 20, large: 70 }).map(([variantKey, rollout]) => ({
      variantKey,
      rollout,
    }))
    const chosen = { distributions, bucket: 167, cumulative: [100, 300, 1000], variantKey: 'middle' }
    const matched = { kind: 'rule', id: rule, rank: 1, matched: true, segmentKeys: ['everybody'], segmentOperator }
    t.same(explained.trace, [{ ...matched, ...failed, askedSegmentKeys: ['everybody', 'germans'], ...chosen }])
    t.notOk('trace' in (await ask(`${V}?explain=false`, { flagKey: 'checkout-v2', entityId: 'alice' })))
    await make.boolean('tenth')
    await make.threshold('tenth', 0.1)
    await make.variantFlag('thirds')
    const [a, b] = [await make.variant('thirds', 'a'), await make.variant('thirds', 'b')]
    await make.rule('thirds', { segmentKey: 'everybody' }, { [a]: 33.33, [b]: 0.7 })
    t.equal((await ask(`${B}?explain`, { flagKey: 'tenth', entityId: 'x' })).trace![0]!['threshold'], 0.1)
    t.match((await ask(`${V}?explain`, { flagKey: 'thirds', entityId: 'x' })).trace, [
      { distributions: [{ rollout: 33.33 }, { rollout: 0.7 }] },
    ])
    await make.variantFlag('off', false)
    t.same((await ask(`${V}?explain=1`, { flagKey: 'off' })).trace, [], 'a disabled variant flag tries nothing')
  })

  await t.test('the explanation of an evaluation contains a limited size of constraints', async (t) => {
    const value = 'x'.repeat(60_000)
    const ids = await make.segment(
      'wordy',
      Array.from({ length: 5 }, (_, n) => ({ property: `p${n}`, operator: 'eq', value })),
    )
    await make.boolean('wordy')
    await make.bySegment('wordy', { segmentKey: 'wordy' })
    const [step] = (await ask(`${B}?explain`, { flagKey: 'wordy' })).trace!
    t.same(step!['failedConstraintIds'], ids, 'all are named')
    const told = step!['failedConstraints'] as readonly { readonly id: string; readonly value: string }[]
    t.same(
      told.map(({ id }) => id),
      ids.slice(0, 4),
    )
    t.ok(
      told.every((constraint) => constraint.value === value),
      'none is cut',
    )
  })

  await t.test('?pretty indents the answer and changes nothing else', async (t) => {
    const { text, json } = await request<Said>('POST', `${B}?pretty`, { flagKey: 'simple', requestId: 'r' })
    t.match(text, /^\{\n {2}"enabled": true,/)
    t.match(json, { enabled: true, requestId: 'r' })
  })

  await t.test('a flag returns its default variant if no rule gives another', async (t) => {
    await make.variantFlag('with-default')
    const chosen = await make.variant('with-default', 'chosen', '"x"')
    await make.updateFlag('with-default', { enabled: true, defaultVariantId: chosen })
    const said = { match: false, variantKey: 'chosen', variantAttachment: '"x"', segmentKeys: [] }
    t.match(await ask(V, { flagKey: 'with-default' }), { ...said, reason: 'DEFAULT_EVALUATION_REASON' })
    await make.updateFlag('with-default', { enabled: false, defaultVariantId: chosen })
    t.match(await ask(V, { flagKey: 'with-default' }), { ...said, reason: 'FLAG_DISABLED_EVALUATION_REASON' })
    await make.rule('with-default', { segmentKey: 'germans' })
    await make.updateFlag('with-default', { enabled: true, defaultVariantId: chosen })
    const matched = { ...said, match: true, segmentKeys: ['germans'], reason: 'MATCH_EVALUATION_REASON' }
    t.match(await ask(V, { flagKey: 'with-default', context: { country: 'de' } }), matched, 'a rule without shares')
    t.match(await ask(V, { flagKey: 'with-default' }), { ...said, reason: 'DEFAULT_EVALUATION_REASON' })
    await make.updateFlag('with-default', { enabled: true })
    t.match(await ask(V, { flagKey: 'with-default' }), { variantKey: '', reason: 'UNKNOWN_EVALUATION_REASON' })
  })

  await t.test('the parameter "at" evaluates a flag as of a past position or time', async (t) => {
    const before = await request('PUT', '/api/v1/flags/simple', { name: 'simple', enabled: true })
    const on = before.headers['event-position']
    await clock.advance(5)
    const instant = clock.now().toISOString()
    await clock.advance(1)
    await make.updateFlag('simple', { enabled: false })
    const simple = { flagKey: 'simple' }
    t.match(await ask(B, simple), { enabled: false })
    t.match(await ask(`${B}?at=${String(on)}`, simple), { enabled: true })
    t.match(await ask(`${B}?at=${instant}`, simple), { enabled: true })
    t.match(await ask(`${B}?at=`, simple), { enabled: false }, 'an empty parameter is absent')
    await refused(t, ['POST', `${B}?at=1970-01-01T00:00:00Z`, simple], 'flag "default/simple" not found', 'not_found')
    const late = 'invalid field at: must not be later than now'
    await refused(t, ['POST', `${B}?at=2999-01-01T00:00:00Z`, simple], late, 'invalid_at')
    const past = await ask(`${V}?explain&at=${instant}`, { flagKey: 'checkout-v2', entityId: 'alice' })
    t.match(past, { variantKey: 'middle', trace: [{ bucket: 167 }] })
  })

  await t.test('After-Position waits for the position, or gets view_behind', async (t) => {
    const { headers } = await request('PUT', '/api/v1/flags/simple', { name: 'simple', enabled: true })
    t.match(await ask(B, { flagKey: 'simple' }, { 'After-Position': String(headers['event-position']) }), {
      enabled: true,
    })
    const malformed = 'invalid header After-Position: must be a decimal number'
    await refused(t, ['POST', B, { flagKey: 'simple' }, { 'After-Position': 'x' }], malformed, 'invalid_header')
    if (onCluster) return
    const last = { 'After-Position': '18446744073709551615' }
    const beyond = 'invalid header After-Position: must not be later than the newest position'
    const next = { 'After-Position': String(BigInt(String(headers['event-position'])) + 1n) }
    for (const after of [last, next])
      await refused(t, ['POST', B, { flagKey: 'simple' }, after], beyond, 'invalid_header')
    for (const after of [last, { 'After-Position': 'x' }]) {
      for (const path of ['/livez', '/readyz', '/metrics', '/auth/v1/method', '/openapi.json']) {
        t.equal(
          (await request('GET', path, undefined, after)).status,
          200,
          `${path} is for everybody and waits for nothing`,
        )
      }
    }
    t.match(await service.metrics(), /^rollcall_server_errors_total 0$/m)
  })

  await t.test('evaluations are counted by flag and result, without the entity', async (t) => {
    await make.boolean('counted', true)
    for (const entityId of ['secret-a', 'secret-b']) await ask(B, { flagKey: 'counted', entityId })
    await request('POST', V, { flagKey: 'counted' })
    await request('POST', B, { flagKey: 'secret-c' })
    const text = await service.metrics()
    const of = 'namespace="default",flag="counted"'
    t.match(text, `rollcall_evaluations_requests_total{${of}} 3\n`)
    t.match(text, `rollcall_evaluations_errors_total{${of}} 1\n`)
    const nobody = 'namespace="",flag=""'
    const [asked, refused] = ['requests', 'errors'].map(
      (kind) => new RegExp(`^rollcall_evaluations_${kind}_total{${nobody}} (\\d+)$`, 'm').exec(text)?.[1],
    )
    t.match(asked, /^\d+$/, 'of flags that are not there too')
    t.equal(refused, asked)
    t.match(text, `rollcall_evaluations_latency_milliseconds_count{${of}} 2\n`)
    const labels = 'type="boolean",match="false",reason="DEFAULT_EVALUATION_REASON",segment="",value="true"'
    t.match(text, `rollcall_evaluations_results_total{${of},${labels}} 2\n`)
    t.notMatch(text, 'secret-')
  })
})

await t.test('a token for one namespace evaluates only batches of that namespace', async (t) => {
  const service = await startService(t)
  const own = maker(service, 'team')
  await own.namespace()
  await own.boolean('f', true)
  const { json } = await service.request<{ clientToken: string }>('POST', '/auth/v1/method/token', {
    name: 'n',
    namespaceKey: 'team',
  })
  const as = async (path: string, body: unknown) => {
    const { status, headers } = await service.request('POST', path, body, {
      authorization: `Bearer ${json.clientToken}`,
    })
    if (status === 403) t.equal(headers['www-authenticate'], 'Bearer error="insufficient_scope"')
    return status
  }
  const none = { flagKey: 'f' }
  const mine = { ...none, namespaceKey: 'team' }
  t.equal(await as('/evaluate/v1/batch', { requests: [mine, mine] }), 200)
  t.equal(await as('/evaluate/v1/batch', { requests: [mine, none] }), 403)
  t.equal(await as('/evaluate/v1/batch', { requests: [] }), 403)
  t.equal(await as('/evaluate/v1/batch', {}), 403)
  t.equal(await as('/evaluate/v1/batch', { requests: [null] }), 403)
  t.equal(await as('/evaluate/v1/batch', { requests: 'x' }), 400, 'a body that is not valid comes first')
  t.equal(
    await as('/api/v1/batch-evaluate', { namespaceKey: 'team', requests: [{ flagKey: 'f' }], excludeNotFound: true }),
    400,
  )
  t.equal(
    await as('/api/v1/batch-evaluate', { namespaceKey: 'team', requests: [{ ...none, namespaceKey: 'default' }] }),
    403,
  )
  t.equal(await as('/api/v1/batch-evaluate', { requests: [] }), 403)
})

import { randomBytes } from 'node:crypto'
import t from 'tap'
import type { Reason } from '../../../src/base/errors.ts'
import { onCluster } from '../../cluster/own.ts'
import { startService } from '../../start.ts'
import { eventsOf } from '../events-of.ts'
import { maker } from '../flags.ts'
import { refuses } from './refusals.ts'

const N = '/api/v1/namespaces/default'
const F = `${N}/flags/f`
const CHANGES = `${F}/changes`
type Part = { readonly id: string; readonly rank: number; readonly updatedAt: string; readonly segmentKey?: string }
type Variant = { readonly id: string; readonly key: string }
type Rule = Part & { readonly distributions: readonly { readonly variantId: string; readonly rollout: number }[] }
type Changed = {
  readonly flag: { readonly name: string; readonly variants: readonly Variant[]; readonly defaultVariant?: Variant }
  readonly rules: readonly Rule[]
  readonly rollouts: readonly Part[]
  readonly refs: Readonly<Record<string, string>>
}
const rollout = (percentage: number, value = true) => ({ op: 'rollout.create', threshold: { percentage, value } })

await t.test('one request with changes of all kinds creates one revision', async (t) => {
  const { request, directory } = await startService(t)
  const make = maker({ request })
  for (const key of ['s', 'q']) await make.segment(key)
  await make.variantFlag('f')
  const begun = Number((await request('GET', F)).headers['etag']!.replaceAll('"', ''))
  const made = await request<Changed>(
    'POST',
    CHANGES,
    {
      changes: [
        { op: 'variant.create', ref: 'one', key: 'one' },
        { op: 'variant.create', ref: 'two', key: 'two', name: 'Two', attachment: '{ "a": 1 }' },
        { op: 'flag.update', default_variant_id: 'one', description: 'new' },
        {
          op: 'rule.create',
          ref: 'rule',
          segmentKeys: ['s', 'q'],
          segmentOperator: 'AND_SEGMENT_OPERATOR',
          distributions: [
            { variantId: 'one', rollout: 40 },
            { variantId: 'two', rollout: 60 },
          ],
        },
        { op: 'rule.create', ref: '__proto__', segmentKey: 's' },
        { op: 'rule.order', ids: ['__proto__', 'rule'] },
        { op: 'variant.update', id: 'two', name: '2' },
        { ...rollout(33.33), ref: 'share', description: 'd' },
        { op: 'rollout.create', ref: 'by segment', segment: { segmentKey: 'q', value: true } },
        { op: 'rollout.order', ids: ['by segment', 'share'] },
      ],
    },
    { 'event-reason': 'a first step', 'x-request-id': 'the-request' },
  )
  t.equal(made.status, 200, made.text)
  const { flag, rules, rollouts, refs } = made.json
  t.match(flag, {
    name: 'f',
    description: 'new',
    enabled: true,
    defaultVariant: { id: refs['one'] },
    variants: [{ id: refs['one'] }, { id: refs['two'], name: '2', attachment: '{"a":1}' }],
  })
  t.match(rules, [
    { id: refs['__proto__'], rank: 1, segmentKey: 's', distributions: [] },
    {
      id: refs['rule'],
      rank: 2,
      segmentKeys: ['s', 'q'],
      segmentOperator: 'AND_SEGMENT_OPERATOR',
      distributions: [
        { variantId: refs['one'], rollout: 40 },
        { variantId: refs['two'], rollout: 60 },
      ],
    },
  ])
  t.match(rollouts, [
    { id: refs['by segment'], rank: 1, segment: { segmentKey: 'q', value: true } },
    { id: refs['share'], rank: 2, description: 'd', threshold: { percentage: 33.33, value: true } },
  ])
  t.strictSame(Object.keys(refs).sort(), ['__proto__', 'by segment', 'one', 'rule', 'share', 'two'])
  for (const id of Object.values(refs)) t.match(id, /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)

  t.match(await request('GET', F), { json: flag, headers: { etag: made.headers['etag'] } })
  t.match((await request('GET', `${F}/rules`)).json, { rules, totalCount: 2 })
  t.match((await request('GET', `${F}/rollouts`)).json, { rollouts, totalCount: 2 })

  const events = await eventsOf(directory, ({ meta }) => meta.requestId === 'the-request')
  const own = events.filter(({ stream }) => stream === 'flag-default+f')
  t.equal(made.headers['event-position'], String(events.at(-1)!.position))
  t.equal(made.headers['etag'], `"${begun + own.length}"`)
  t.strictSame(
    own.map(({ type }) => type),
    [
      'VariantAdded',
      'VariantAdded',
      'FlagUpdated',
      'RuleAdded',
      'DistributionAdded',
      'DistributionAdded',
      'RuleAdded',
      'RulesReordered',
      'VariantUpdated',
      'RolloutAdded',
      'RolloutAdded',
      'RolloutsReordered',
    ],
  )
  t.ok(events.every(({ meta }) => meta.reason === 'a first step' && meta.correlationId === 'the-request'))
  t.equal(new Set(own.map(({ meta }) => meta.command)).size, 1)
  t.strictSame(
    own.map(({ meta }) => meta.more),
    [11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, undefined],
  )
  t.strictSame(
    events.filter(({ type }) => type === 'SegmentAttached').map(({ stream }) => stream),
    ['segment-default+s', 'segment-default+q'],
    'a segment is reserved once, however many parts use it',
  )

  const changed = await request<Changed>('POST', `/api/v1/flags/f/changes`, {
    changes: [
      { op: 'rollout.update', id: refs['share'], threshold: { percentage: 50 } },
      { op: 'rollout.update', id: refs['by segment'], segment: { segmentKeys: ['s', 'q'] } },
      { op: 'rollout.update', id: refs['by segment'], description: 'both' },
      { op: 'rule.update', id: refs['rule'], segmentKey: 's' },
      { op: 'rule.delete', id: refs['__proto__'] },
      { op: 'variant.delete', id: refs['one'] },
    ],
  })
  t.match(changed.json, {
    rules: [{ id: refs['rule'], rank: 1, segmentKey: 's', distributions: [{ variantId: refs['two'], rollout: 60 }] }],
    rollouts: [
      {
        description: 'both',
        segment: { segmentKeys: ['s', 'q'], segmentOperator: 'OR_SEGMENT_OPERATOR', value: true },
      },
      { description: 'd', threshold: { percentage: 50, value: true } },
    ],
    refs: {},
  })
  t.notOk('defaultVariant' in changed.json.flag)
})

await t.test('a batch that changes nothing writes no event', async (t) => {
  const { request } = await startService(t)
  const make = maker({ request })
  await make.segment('s')
  await make.variantFlag('f')
  const variantId = await make.variant('f', 'v')
  const rule = await make.rule('f', { segmentKey: 's' }, { [variantId]: 100 })
  const { headers } = await request('GET', F)
  const head = (await request('DELETE', `${F}/rules/none`)).headers['event-position']
  const same = await request('POST', CHANGES, {
    changes: [
      { op: 'flag.update' },
      { op: 'flag.update', name: 'f', enabled: true },
      { op: 'variant.update', id: variantId, key: 'v' },
      { op: 'rule.update', id: rule, segmentKey: 's', distributions: [{ variantId, rollout: 100 }] },
      { op: 'rollout.delete', id: 'none' },
    ],
  })
  t.match(same, { status: 200, headers: { etag: headers['etag'], 'event-position': head } }, same.text)
})

await t.test('one invalid change makes the whole batch be refused', async (t) => {
  const service = await startService(t)
  const { request } = service
  const refused = refuses(service)
  const make = maker({ request })
  for (const key of ['s', 'q']) await make.segment(key)
  await make.variantFlag('f')
  await make.variant('f', 'v')
  const { headers } = await request('GET', F)
  const rows: readonly (readonly [changes: unknown, message: string, reason?: Reason])[] = [
    [undefined, 'invalid field changes: must contain atleast 1 elements'],
    [[], 'invalid field changes: must contain atleast 1 elements'],
    [Array.from({ length: 201 }, () => rollout(1)), 'invalid field changes: must contain at most 200 elements'],
    [{}, 'request body is not valid: changes must be a list', 'malformed_body'],
    [[rollout(1), 1], 'request body is not valid: changes[1] must be an object', 'malformed_body'],
    [[null], 'invalid field changes[0]: must not be empty'],
    [[{}], 'invalid field changes[0].op: must not be empty'],
    [[{ op: 'toString' }], 'invalid field changes[0].op: unknown value "toString"'],
    [[{ op: 1 }], 'request body is not valid: changes[0].op must be text', 'malformed_body'],
    [[rollout(1), { op: 'flag.update', name: '' }], 'invalid field changes[1].name: must not be empty'],
    [[{ op: 'variant.create' }], 'invalid field changes[0].key: must not be empty'],
    [[{ op: 'variant.delete' }], 'invalid field changes[0].id: must not be empty'],
    [[{ op: 'rollout.create' }], 'rollout rule is missing'],
    [[rollout(100.01)], 'invalid field changes[0].threshold.percentage: must be within range [0, 100]'],
    [
      [{ op: 'rollout.update', id: 'x', threshold: { percentage: -1 } }],
      'invalid field changes[0].threshold.percentage: must be within range [0, 100]',
    ],
    [
      [{ op: 'rollout.update', id: 'x', threshold: {}, segment: {} }],
      'invalid field changes[0].rule: only one of segment or threshold can be present',
    ],
    [
      [{ op: 'rule.create', segmentKey: 's', segmentKeys: ['q'] }],
      'invalid field changes[0].segmentKey or segmentKeys: only one can be present',
    ],
    [
      [{ op: 'rule.update', id: 'x', segmentKeys: [] }],
      'invalid field changes[0].segmentKey or segmentKeys: must not be empty',
    ],
    [
      [{ op: 'rule.create', segmentKey: 's', distributions: [{ variantId: 'v', rollout: 101 }] }],
      "invalid field changes[0].distributions[0].rollout: must be less than or equal to '100'",
    ],
    [[{ op: 'rule.order', ids: ['a'] }], 'invalid field changes[0].ids: must contain atleast 2 elements'],
    [[{ op: 'rule.order', ids: ['a', 'a'] }], 'invalid field changes[0].ids: must not contain duplicates'],
    [[{ op: 'rule.order', ids: ['a', 'b'] }], 'invalid field changes[0].ids: contains unknown id "a"'],
    [
      [
        { ...rollout(1), ref: 'a' },
        { ...rollout(1), ref: 'a' },
      ],
      'invalid field changes[1].ref: must be unique',
    ],
    [[rollout(1), { op: 'variant.create', key: 'v' }], 'variant "v" is not unique for flag "default/f"', 'not_unique'],
    [
      [rollout(1), { op: 'rollout.update', id: 'later' }, { ...rollout(2), ref: 'later' }],
      'rollout "default/later" not found',
      'not_found',
    ],
    [
      [
        { ...rollout(1), ref: 'a' },
        { op: 'rollout.update', id: 'a', segment: { segmentKey: 's' } },
      ],
      'cannot change type of rollout: have "THRESHOLD_ROLLOUT_TYPE" attempted "SEGMENT_ROLLOUT_TYPE"',
      'type_change',
    ],
    [
      [
        { op: 'rule.create', segmentKey: 's' },
        { op: 'rule.create', segmentKeys: ['q', 'none'] },
        { op: 'rollout.update', id: 'x' },
      ],
      'flag "default/f" or segment "default/none" not found',
      'not_found',
    ],
    [
      [
        { op: 'rule.create', segmentKey: 's' },
        { op: 'rollout.update', id: 'x' },
        { op: 'rule.create', segmentKey: 'none' },
      ],
      'rollout "default/x" not found',
      'not_found',
    ],
    [
      [{ op: 'rollout.create', segment: { segmentKey: 'none' } }],
      'flag "default/f or segment none" not found',
      'not_found',
    ],
    [[{ op: 'flag.update', defaultVariantId: 'x' }], 'variant "x" not found for flag "default/f"'],
    [
      [
        { op: 'variant.create', ref: 'w', key: 'w' },
        {
          op: 'rule.create',
          segmentKey: 's',
          distributions: [
            { variantId: 'w', rollout: 60 },
            { variantId: 'w', rollout: 60 },
          ],
        },
      ],
      'invalid field changes[1].distributions[1].rollout: distributions of a rule must not exceed 100 in total',
    ],
  ]
  for (const [changes, ...refusal] of rows) await refused(t, ['POST', CHANGES, { changes }], ...refusal)
  await refused(
    t,
    ['POST', `${N}/flags/none/changes`, { changes: [rollout(1)] }],
    'flag "default/none" not found',
    'not_found',
  )
  const { text } = await request('POST', CHANGES, { changes: [rollout(1), { op: 'variant.create', key: 'v' }] })
  t.match(text, '"member":"changes[1]"', 'what is about no field names the change')
  t.match((await request('GET', F)).headers, { etag: headers['etag'] }, 'nothing of it was done')
  for (const key of ['s', 'q'])
    t.equal((await request('DELETE', `${N}/segments/${key}`)).status, 200, 'no segment is held by what was refused')
})

await t.test('concurrent and repeated batches have the effect of one after another', async (t) => {
  const { request, directory } = await startService(t)
  const make = maker({ request })
  await make.segment('s')
  await make.boolean('f')
  const { etag = '' } = (await request('GET', F)).headers
  const body = (percentage: number) => ({
    changes: [
      { ...rollout(percentage), ref: 'share' },
      { op: 'rollout.create', segment: { segmentKey: 's', value: true } },
    ],
  })
  const answers = await Promise.all([1, 2].map((n) => request('POST', CHANGES, body(n), { 'if-match': etag })))
  t.strictSame(
    answers.map(({ status }) => status).toSorted((a, b) => a - b),
    [200, 412],
  )
  const won = answers.find(({ status }) => status === 200)!
  const lost = answers.find(({ status }) => status === 412)!
  t.equal(lost.headers['etag'], won.headers['etag'], 'the loser receives the present revision')
  t.match((await request('GET', `${F}/rollouts`)).json, { totalCount: 2 })
  t.equal((await request('POST', CHANGES, body(3), { 'if-match': etag })).status, 412)

  const key = { 'idempotency-key': 'once' }
  const first = await request<Changed>('POST', CHANGES, body(4), key)
  const again = await request<Changed>('POST', CHANGES, body(4), key)
  t.strictSame([again.json, again.headers['etag']], [first.json, first.headers['etag']])
  t.equal(again.headers['idempotency-replayed'], 'true')
  t.equal((await request('POST', CHANGES, body(5), key)).status, 409)
  t.match((await request('GET', `${F}/rollouts`)).json, { totalCount: 4 })
  const attached = await eventsOf(directory, ({ type }) => type === 'SegmentAttached')
  const detached = await eventsOf(directory, ({ type }) => type === 'SegmentDetached')
  t.equal(attached.length - detached.length, 2, 'one reservation for each of the two that use it')
})

await t.test('a batch may have 200 changes, and as many as a large flag allows', async (t) => {
  const service = await startService(t)
  const { request } = service
  const refused = refuses(service)
  await maker({ request }).boolean('f')
  const many = (length: number, change: (n: number) => object) => ({
    changes: Array.from({ length }, (_, n) => change(n)),
  })
  for (let n = 0; n < 3; n++) {
    const { status, json, text } = await request<Changed>(
      'POST',
      CHANGES,
      many(200, (n) => rollout(n / 2)),
    )
    t.equal(status, 200, status === 200 ? '' : text)
    t.equal(json.rollouts.length, 200 * (n + 1))
  }
  const { rollouts } = (await request<{ rollouts: Part[] }>('GET', `${F}/rollouts`)).json
  const last = rollouts.slice(-100).toReversed()
  const fewer = await request<Changed>(
    'POST',
    CHANGES,
    many(100, (n) => ({ op: 'rollout.delete', id: last[n]!.id })),
  )
  t.strictSame(
    fewer.json.rollouts.map(({ id, rank }) => [id, rank]),
    rollouts.slice(0, -100).map(({ id }, n) => [id, n + 1]),
  )
  const segmentKeys = Array.from({ length: 40_000 }, (_, n) => `none-${n}`)
  await refused(
    t,
    ['POST', CHANGES, { changes: [{ op: 'rule.create', segmentKeys }] }],
    'invalid field changes: must not be so many where there are 500 parts',
  )
  const distributions = Array.from({ length: 10_000 }, () => ({ variantId: 'v', rollout: 0 }))
  await refused(
    t,
    ['POST', CHANGES, { changes: [{ op: 'rule.create', segmentKey: 's', distributions }] }],
    'invalid field changes: must not be so many where there are 500 parts',
  )
})

await t.test('a full namespace accepts changes that shrink it, and no others', async (t) => {
  const { request } = await startService(t, { 'quotas.bytes_per_namespace': '20000' })
  await maker({ request }).boolean('f')
  const text = JSON.stringify('x'.repeat(9_000))
  const variant = (key: string) => ({ op: 'variant.create', ref: key, key, attachment: text })
  const full = await request<Changed>('POST', CHANGES, { changes: ['a', 'b'].map(variant) })
  t.equal(full.status, 200, full.text)
  const more = await request('POST', CHANGES, { changes: ['c', 'd'].map(variant) })
  t.match(more, { status: 400, text: /quota_exceeded/ })
  const swap = { changes: [variant('e'), { op: 'variant.delete', id: full.json.refs['a'] }] }
  t.equal((await request('POST', CHANGES, swap)).status, 200, 'what counts is what the changes come to')
})

await t.test('a batch larger than one append to EventStoreDB is refused without an effect', async (t) => {
  const { request } = await startService(t)
  const make = maker({ request })
  await make.segment('s')
  await make.variantFlag('f')
  const noise = () => JSON.stringify(randomBytes(440_000).toString('hex'))
  const changes = [
    { op: 'rule.create', segmentKey: 's' },
    ...['a', 'b', 'c'].map((key) => ({ op: 'variant.create', key, attachment: noise() })),
  ]
  const { status } = await request('POST', CHANGES, { changes })
  t.equal(status, onCluster ? 413 : 200)
  const { totalCount } = (await request<{ totalCount: number }>('GET', `${F}/rules`)).json
  t.equal(totalCount, onCluster ? 0 : 1)
  t.equal((await request('DELETE', `${N}/segments/s`)).status, onCluster ? 200 : 400, 'held where it is used')
})

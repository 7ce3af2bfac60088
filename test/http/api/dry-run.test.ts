import t from 'tap'
import { type Fields, startService } from '../../start.ts'
import { maker } from '../flags.ts'
import { granted } from '../granted.ts'
import { refusalOf } from '../people.ts'

const N = '/api/v1/namespaces/shop'
const DRY = '?dryRun=true&explain=true'
const service = await startService(t, { 'authorization.require_reason': 'shop' })
const given = (method: string, path: string, body?: Fields, headers: object = {}) =>
  service.request(method, path, body, { 'Event-Reason': 'set up', ...headers })
const make = maker({ request: given as typeof service.request }, 'shop')
await make.namespace()
await make.segment('vip', [{ property: 'plan', operator: 'eq', value: 'pro' }])
await make.boolean('yes')
await make.bySegment('yes', { segmentKeys: ['vip'] })
await make.variantFlag('which')
const red = await make.variant('which', 'red', '{"a":1}')
await make.rule('which', { segmentKey: 'vip' }, { [red]: 100 })

const dry = async (path: string, body: Fields, headers: object = {}) =>
  service.request('POST', `${N}/${path}/changes${DRY}`, body, headers as Record<string, string>)
const stateOf = async (path: string) => {
  const [whole, history] = [
    await service.request('GET', `${N}/${path}`),
    await service.request('GET', '/audit/v1/events?order=desc&limit=1'),
  ]
  return { whole: whole.json, etag: whole.headers['etag'], events: (history.json['events'] as unknown[])[0] }
}
const evaluate = { entityId: 'ada', context: { plan: 'free' } }

await t.test('a dry run of a flag returns the answer of the write and appends nothing', async (t) => {
  const changes = [
    { op: 'flag.update', description: 'new' },
    { op: 'rollout.create', ref: 'all', threshold: { percentage: 100, value: true } },
    { op: 'rollout.create', segment: { segmentKey: 'vip', value: false } },
  ]
  const before = await stateOf('flags/yes')
  const tried = await dry('flags/yes', { changes, evaluate }, { 'Idempotency-Key': 'one', 'If-Match': before.etag! })
  t.equal(tried.status, 200, tried.text)
  t.notOk(tried.headers['event-position'])
  t.equal(tried.headers['etag'], before.etag)
  t.equal(`"${String(tried.json['revision'])}"`, before.etag)
  t.match(tried.json['evaluations'], {
    present: { enabled: false, reason: 'DEFAULT_EVALUATION_REASON', untried: 0 },
    changed: { enabled: true, reason: 'MATCH_EVALUATION_REASON', trace: [{ matched: false }, { threshold: 100 }] },
  })
  t.strictSame(await stateOf('flags/yes'), before)
  const made = await given('POST', `${N}/flags/yes/changes`, { changes }, { 'Idempotency-Key': 'one' })
  t.equal(made.status, 200, 'the key of a dry run stays free')
  const own = /"(?:id|createdAt|updatedAt|all|revision)":"[^"]*"/g
  const { evaluations: _evaluations, revision: _revision, ...same } = tried.json
  t.equal(JSON.stringify(same).replaceAll(own, ''), made.text.replaceAll(own, ''))
})

await t.test('a dry run of a variant flag evaluates variants that only the draft has', async (t) => {
  const before = await stateOf('flags/which')
  const { json } = await dry('flags/which', {
    changes: [
      { op: 'variant.create', ref: 'blue', key: 'blue', attachment: '2' },
      { op: 'flag.update', defaultVariantId: 'blue' },
    ],
    evaluate,
  })
  t.match(json['evaluations'], {
    present: { match: false, variantKey: '', reason: 'UNKNOWN_EVALUATION_REASON' },
    changed: { match: false, variantKey: 'blue', variantAttachment: '2', reason: 'DEFAULT_EVALUATION_REASON' },
  })
  const unchanged = await dry('flags/which', { changes: [{ op: 'flag.update' }], evaluate })
  const { present, changed } = unchanged.json['evaluations'] as Fields
  t.strictSame(changed, present)
  t.strictSame(await stateOf('flags/which'), before)
})

await t.test('a dry run of a segment returns both matches and appends nothing', async (t) => {
  const before = await stateOf('segments/vip')
  const constraint = { type: 'STRING_COMPARISON_TYPE', property: 'plan', operator: 'eq', value: 'free' }
  const changes = [
    { op: 'segment.update', matchType: 'ANY_MATCH_TYPE' },
    { op: 'constraint.create', ...constraint },
  ]
  const tried = await dry('segments/vip', { changes, evaluate })
  t.match(tried.json, {
    segment: { matchType: 'ANY_MATCH_TYPE', constraints: { length: 2 } },
    revision: before.etag!.replaceAll('"', ''),
    evaluations: {
      present: { matched: false, constraints: [{ matched: false }] },
      changed: { matched: true, constraints: [{ matched: false }, { matched: true }] },
    },
  })
  t.strictSame(await stateOf('segments/vip'), before)
})

await t.test('a dry run refuses what the write would refuse', async (t) => {
  const before = await stateOf('flags/yes')
  const change = { op: 'rollout.create', threshold: { percentage: 1, value: true } }
  const cases: readonly (readonly [number, string, Fields, object?])[] = [
    [400, 'flags/yes', { changes: [change, { op: 'rollout.create', threshold: { percentage: 101 } }] }],
    [404, 'flags/yes', { changes: [{ op: 'rollout.create', segment: { segmentKey: 'none' } }] }],
    [404, 'flags/none', { changes: [change] }],
    [412, 'flags/yes', { changes: [change] }, { 'If-Match': '"1"' }],
    [400, 'flags/yes', { changes: [] }],
    [400, 'flags/yes', { changes: [change], evaluate: { entityId: 1 } }],
    [400, 'flags/yes', { changes: [change] }, { 'Event-Reason': 'a'.repeat(501) }],
    [404, 'segments/none', { changes: [{ op: 'segment.update', name: 'n' }] }],
  ]
  for (const [status, path, body, headers] of cases) {
    const answer = await dry(path, body, headers)
    t.equal(answer.status, status, answer.text)
  }
  const wet = await given('POST', `${N}/flags/yes/changes`, { changes: [change], evaluate })
  t.match(refusalOf(wet), { reason: 'invalid_argument' })
  t.match(wet.text, 'must be absent unless dryRun is true')
  t.strictSame(await stateOf('flags/yes'), before)
})

await t.test('a dry run needs the right of the write, and for an entity that of its evaluation', async (t) => {
  const ask = async (rights: readonly string[], path: string, body: Fields, query: string) => {
    const grants = [{ namespaceKey: 'shop', rights }]
    const { headers } = await granted({ ...service, request: given as typeof service.request }, { grants })
    const answer = await service.request('POST', `${N}/${path}/changes${query}`, body, headers)
    return answer.status === 200 ? answer.json : /[a-z]+\.[a-z]+/.exec(String(refusalOf(answer).message))?.[0]
  }
  const none = { changes: [{ op: 'flag.update' }] }
  const flag = 'flags/yes'
  t.equal(await ask(['flag.read', 'flag.evaluate'], flag, none, DRY), 'flag.update')
  t.equal(await ask(['flag.update'], flag, none, DRY), 'flag.read')
  t.match(await ask(['flag.update'], flag, none, '?dryRun=true'), { revision: /^\d+$/ })
  t.equal(await ask(['flag.update'], flag, { ...none, evaluate }, '?dryRun=true'), 'flag.evaluate')
  const vip = { ...none, evaluate: { entityId: 'e', context: { plan: 'pro' } } }
  const unnamed = await ask(['flag.update', 'flag.evaluate'], flag, vip, '?dryRun=true')
  t.match(unnamed, { evaluations: { changed: { enabled: true, segmentKeys: { length: 0 }, trace: undefined } } })
  const same = { changes: [{ op: 'segment.update' }], evaluate }
  t.equal(await ask(['segment.update'], 'segments/vip', same, '?dryRun=true'), 'segment.read')
  t.match(await ask(['segment.update', 'segment.read'], 'segments/vip', same, DRY), { evaluations: { present: {} } })
})

import t from 'tap'
import type { Reason } from '../../../src/base/errors.ts'
import { startService } from '../../start.ts'
import { eventsOf } from '../events-of.ts'
import { maker } from '../flags.ts'
import { refuses } from './refusals.ts'

const S = '/api/v1/namespaces/default/segments/s'
const CHANGES = `${S}/changes`
type Changed = { readonly segment: object; readonly refs: Readonly<Record<string, string>> }
const constraint = {
  op: 'constraint.create',
  type: 'STRING_COMPARISON_TYPE',
  property: 'p',
  operator: 'EQ',
  value: 'v',
}

await t.test('changes of a segment and its constraints take effect together', async (t) => {
  const service = await startService(t)
  const { request, directory } = service
  const refused = refuses(service)
  const make = maker({ request })
  const [old] = await make.segment('s', [{ property: 'old', operator: 'eq', value: '1' }])
  await make.boolean('f')
  await make.bySegment('f', { segmentKey: 's' })
  const { headers } = await request('GET', S)
  const when = { type: 'DATETIME_COMPARISON_TYPE', property: 'at', operator: 'lt' }
  const made = await request<Changed>(
    'POST',
    CHANGES,
    {
      changes: [
        { ...constraint, ref: 'a' },
        { ...constraint, ref: 'b', description: 'd' },
        { op: 'segment.update', match_type: 'ANY_MATCH_TYPE' },
        { op: 'constraint.update', id: 'b', value: 'w' },
        { op: 'constraint.update', id: old, ...when, value: '2031-01-01T01:00:00+01:00' },
        { op: 'constraint.delete', id: 'a' },
      ],
    },
    { 'if-match': headers['etag']!, 'event-reason': 'why', 'x-request-id': 'the-request' },
  )
  t.equal(made.status, 200, made.text)
  const { segment, refs } = made.json
  t.match(segment, {
    name: 's',
    matchType: 'ANY_MATCH_TYPE',
    constraints: [
      { id: old, type: 'DATETIME_COMPARISON_TYPE', property: 'at', operator: 'lt', value: '2031-01-01T00:00:00Z' },
      { id: refs['b'], property: 'p', operator: 'eq', value: 'w', description: 'd' },
    ],
  })
  t.match(await request('GET', S), { json: segment, headers: { etag: made.headers['etag'] } })
  const events = await eventsOf(directory, ({ meta }) => meta.requestId === 'the-request')
  t.strictSame(
    events.map(({ type, meta }) => [type, meta.reason, meta.more]),
    [
      ['ConstraintAdded', 'why', 5],
      ['ConstraintAdded', 'why', 4],
      ['SegmentUpdated', 'why', 3],
      ['ConstraintUpdated', 'why', 2],
      ['ConstraintUpdated', 'why', 1],
      ['ConstraintRemoved', 'why', undefined],
    ],
  )
  t.equal(made.headers['event-position'], String(events.at(-1)!.position))

  const stale = await request('POST', CHANGES, { changes: [constraint] }, { 'if-match': headers['etag']! })
  t.match(stale, { status: 412, headers: { etag: made.headers['etag'] } })
  const rows: readonly (readonly [changes: readonly object[], message: string, reason?: Reason])[] = [
    [[constraint, { ...constraint, property: '' }], 'invalid field changes[1].property: must not be empty'],
    [[{ ...constraint, value: '' }], 'invalid field changes[0].value: must not be empty'],
    [
      [
        { ...constraint, operator: 'lt' },
        { ...constraint, property: '' },
      ],
      'constraint operator "lt" is not valid for type string',
    ],
    [
      [constraint, { op: 'constraint.update', id: refs['b'], operator: 'lt' }],
      'constraint operator "lt" is not valid for type string',
    ],
    [
      [constraint, { op: 'constraint.update', id: refs['b'], value: '' }],
      'invalid field changes[1].value: must not be empty',
    ],
    [[constraint, { op: 'constraint.update', id: 'x', value: '1' }], 'constraint "x" not found', 'not_found'],
    [[{ op: 'segment.update', name: '' }], 'invalid field changes[0].name: must not be empty'],
    [[{ op: 'flag.update' }], 'invalid field changes[0].op: unknown value "flag.update"'],
  ]
  for (const [changes, ...refusal] of rows) await refused(t, ['POST', CHANGES, { changes }], ...refusal)
  await refused(
    t,
    ['POST', '/api/v1/segments/none/changes', { changes: [constraint] }],
    'segment "default/none" not found',
    'not_found',
  )
  t.match((await request('GET', S)).headers, { etag: made.headers['etag'] }, 'nothing of it was done')

  const same = [
    { op: 'segment.update', name: 's' },
    { op: 'constraint.delete', id: 'none' },
    { op: 'constraint.update', id: refs['b'], value: 'w' },
  ]
  const unchanged = await request('POST', CHANGES, { changes: same })
  t.match(unchanged, { status: 200, headers: { etag: made.headers['etag'] } })

  const key = { 'idempotency-key': 'once' }
  const first = await request<Changed>('POST', CHANGES, { changes: [{ ...constraint, ref: 'c' }] }, key)
  const again = await request<Changed>('POST', CHANGES, { changes: [{ ...constraint, ref: 'c' }] }, key)
  t.strictSame([again.json, again.headers['etag']], [first.json, first.headers['etag']])
})

await t.test('200 constraints can be created at once', async (t) => {
  const { request } = await startService(t)
  await maker({ request }).segment('s')
  const of = (length: number) => ({ changes: Array.from({ length }, (_, n) => ({ ...constraint, value: String(n) })) })
  const { json, status } = await request<{ segment: { constraints: { value: string }[] } }>('POST', CHANGES, of(200))
  t.equal(status, 200)
  t.strictSame(
    json.segment.constraints.map(({ value }) => value),
    Array.from({ length: 200 }, (_, n) => String(n)),
  )
  t.equal((await request('POST', CHANGES, of(201))).status, 400)
})

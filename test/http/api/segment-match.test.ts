import t from 'tap'
import { startService } from '../../start.ts'
import { maker } from '../flags.ts'

const path = '/api/v1/namespaces/default/segments/beta/match'
type Match = { readonly matched: boolean; readonly constraints: readonly { matched: boolean; never?: boolean }[] }

await t.test('a segment is tried with an entity, as it is stored and as it would be', async (t) => {
  const service = await startService(t)
  const make = maker(service)
  await make.segment('beta', [
    { property: 'plan', operator: 'eq', value: 'pro' },
    { type: 'NUMBER_COMPARISON_TYPE', property: 'seats', operator: 'gt', value: '10' },
  ])
  const newest = '/audit/v1/events?order=desc&limit=1&category=segment'
  const before = (await service.request('GET', newest)).json
  const tried = async (body: object) => (await service.request<Match>('POST', path, body)).json
  const some = { matched: false, constraints: [{ matched: true }, { matched: false }] }
  t.strictSame(await tried({ entityId: 'ada', context: { plan: 'pro', seats: 3 } }), some)
  t.strictSame(await tried({ context: { plan: 'pro', seats: 3 }, matchType: 'ANY_MATCH_TYPE' }), {
    ...some,
    matched: true,
  })
  t.strictSame(await tried({ context: { plan: 'pro', seats: '11' } }), {
    matched: true,
    constraints: [{ matched: true }, { matched: true }],
  })
  t.strictSame(await tried({ constraints: [] }), { matched: true, constraints: [] })
  const number = { type: 'NUMBER_COMPARISON_TYPE', property: 'seats' }
  const text = { type: 'STRING_COMPARISON_TYPE', property: 'plan' }
  const never = [
    { ...number, operator: 'eq', value: 'many' },
    { ...number, operator: 'isoneof', value: '[]' },
    { ...text, operator: 'isoneof', value: '[]' },
  ]
  t.strictSame(await tried({ context: { seats: 'many', plan: 'pro' }, constraints: never }), {
    matched: false,
    constraints: never.map(() => ({ matched: false, never: true })),
  })
  const entity = { type: 'ENTITY_ID_COMPARISON_TYPE', property: 'entityId', operator: 'isoneof', value: '["ada"]' }
  t.strictSame(await tried({ entityId: 'ada', constraints: [entity] }), {
    matched: true,
    constraints: [{ matched: true }],
  })
  t.strictSame((await service.request('GET', newest)).json, before, 'nothing is written')
  for (const [body, status, message] of [
    [
      { constraints: [entity, { ...text, operator: 'eq', value: '' }] },
      400,
      'invalid field constraints[1].value: must not be empty',
    ],
    [
      { constraints: [{ ...text, operator: 'lt', value: '1' }] },
      400,
      'constraint operator "lt" is not valid for type string',
    ],
    [
      { constraints: Array.from({ length: 1001 }, () => entity) },
      400,
      'invalid field constraints: must contain at most 1000 elements',
    ],
    [
      { constraints: Array.from({ length: 40 }, () => entity), entityId: 'x'.repeat(65_536) },
      400,
      'evaluation takes too much work',
    ],
    [{ entityId: 'x'.repeat(65_537) }, 400, 'invalid field entityId: must be at most 65536 bytes'],
  ] as const) {
    const answer = await service.request('POST', path, body)
    t.equal(answer.status, status, message)
    t.match(answer.json, { message })
  }
  t.match((await service.request('POST', path.replace('beta', 'none'), {})).json, {
    message: 'segment "default/none" not found',
  })
})

import t from 'tap'
import { startService } from '../../start.ts'
import { creator, refuses } from './refusals.ts'

const N = '/api/v1/namespaces/default'
type Part = { readonly id: string; readonly rank: number; readonly description: string; readonly updatedAt: string }

await t.test('rollouts are created, read, changed and deleted', async (t) => {
  const service = await startService(t)
  const { request } = service
  const refused = refuses(service)
  const create = creator(service)
  for (const key of ['s1', 's2']) await create(t, '/api/v1/segments', { key, name: key })
  const flag = async (key: string) => {
    await create(t, '/api/v1/flags', { key, name: key, type: 1 })
    return `${N}/flags/${key}/rollouts`
  }
  const threshold = (percentage: unknown, value = true) => ({ threshold: { percentage, value } })

  await t.test('a rollout by threshold is returned as docs/api.md shows it', async (t) => {
    const path = await flag('f')
    const made = await request<Part>('POST', path, { rank: 1, ...threshold(33.33) })
    t.match(made, { status: 200, headers: { etag: '"2"', 'event-position': /^\d+$/ } })
    const { id, updatedAt, ...rest } = made.json
    t.match(id, /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
    t.same(rest, {
      namespaceKey: 'default',
      flagKey: 'f',
      type: 'THRESHOLD_ROLLOUT_TYPE',
      rank: 1,
      description: '',
      createdAt: updatedAt,
      threshold: { percentage: 33.33, countsAs: 34, value: true },
    })
    t.match(made.text, /"percentage":33\.33[,}]/)
    const listed = (await request('GET', path)).json
    t.same(listed, { rules: [made.json], rollouts: [made.json], totalCount: 1, nextPageToken: '' })
    t.match(await request('GET', `${path}/${id}`), { json: made.json, headers: { etag: '"2"' } })
    t.equal((await request('GET', '/api/v1/flags/f/rollouts')).status, 404, 'only under a namespace')
  })

  await t.test('a rollout by segment can be created and replaced', async (t) => {
    const path = await flag('segments')
    const made = await create(t, path, {
      description: 'd',
      segment: { segmentKeys: ['s1', 's2', 's1'], segmentOperator: 'AND_SEGMENT_OPERATOR', value: true },
    })
    t.match(made, { type: 'SEGMENT_ROLLOUT_TYPE', rank: 1, description: 'd' })
    t.same(made['segment'], {
      segmentKey: '',
      segmentKeys: ['s1', 's2'],
      segmentOperator: 'AND_SEGMENT_OPERATOR',
      value: true,
    })
    t.notOk('threshold' in made)
    const changed = (await request('PUT', `${path}/${made.id}`, { rank: 5, segment: { segmentKey: 's2' } })).json
    t.match(changed, { id: made.id, rank: 1, description: '' })
    t.same(changed['segment'], {
      segmentKey: 's2',
      segmentKeys: [],
      segmentOperator: 'OR_SEGMENT_OPERATOR',
      value: false,
    })
  })

  await t.test('invalid fields and missing parts of a rollout are refused, and its type never changes', async (t) => {
    const path = await flag('wrong')
    const { id } = await create(t, path, threshold(0))
    const one = `${path}/${id}`
    await refused(t, ['POST', path, { rank: 1 }], 'rollout rule is missing')
    await refused(t, ['PUT', one, {}], 'invalid field rule: invalid rollout rule type')
    for (const [method, url] of [
      ['POST', path],
      ['PUT', one],
    ] as const) {
      const both = { ...threshold(1), segment: { segmentKey: 's1' } }
      await refused(t, [method, url, both], 'invalid field rule: only one of segment or threshold can be present')
      for (const percentage of [-0.01, 100.01, '101'])
        await refused(
          t,
          [method, url, threshold(percentage)],
          'invalid field threshold.percentage: must be within range [0, 100]',
        )
      await refused(t, [method, url, threshold('1e99')], 'invalid field threshold.percentage: must be a finite number')
      await refused(
        t,
        [method, url, threshold(true)],
        'request body is not valid: threshold.percentage must be a number',
        'malformed_body',
      )
      await refused(t, [method, url, { segment: {} }], 'invalid field segmentKey or segmentKeys: must not be empty')
      await refused(
        t,
        [method, url, { segment: { segmentKey: 's1', segmentKeys: ['s2'] } }],
        'invalid field segmentKey or segmentKeys: only one can be present',
      )
      await refused(
        t,
        [method, url, { ...threshold(1), description: 'd'.repeat(10_001) }],
        'invalid field description: must be at most 10000 characters',
      )
      await refused(
        t,
        [method, url, { segment: { segmentKey: 'm' } }],
        'flag "default/wrong or segment m" not found',
        'not_found',
      )
    }
    await refused(t, ['POST', path, { rank: -3, ...threshold(1) }], 'invalid field rank: must be greater than 0')
    await refused(t, ['POST', path, { rank: 1, ...threshold(1) }], 'rank number: 1 already exists', 'rank_taken')
    await refused(
      t,
      ['PUT', one, { segment: { segmentKey: 's1' } }],
      'cannot change type of rollout: have "THRESHOLD_ROLLOUT_TYPE" attempted "SEGMENT_ROLLOUT_TYPE"',
      'type_change',
    )
    t.equal((await request('DELETE', `${N}/segments/s1`)).status, 200, 'what was refused does not hold a segment')
    await create(t, '/api/v1/segments', { key: 's1', name: 's1' })
    await refused(t, ['POST', `${N}/flags/none/rollouts`, threshold(1)], 'flag "default/none" not found', 'not_found')
    await refused(
      t,
      ['POST', `${N}/flags/none/rollouts`, { segment: { segmentKey: 's1' } }],
      'flag "default/none or segment s1" not found',
      'not_found',
    )
    await refused(t, ['GET', `${path}/x`], 'rollout "default/x" not found', 'not_found')
    await refused(t, ['PUT', `${path}/x`, threshold(1)], 'rollout "default/x" not found', 'not_found')
    await refused(t, ['GET', `${N}/flags/f/rollouts/${id}`], `rollout "default/${id}" not found`, 'not_found')
    t.match((await request('GET', `${N}/flags/none/rollouts`)).json, { rules: [], rollouts: [], totalCount: 0 })
  })

  await t.test('ranks have no gaps after a removal, and a new order puts the listed rollouts first', async (t) => {
    const path = await flag('ranks')
    const [a, b, c, d] = [
      await create(t, path, threshold(1)),
      await create(t, path, threshold(2)),
      await create(t, path, threshold(3)),
      await create(t, path, { rank: 9, ...threshold(4) }),
    ]
    const seen = async () => (await request<{ rollouts: Part[] }>('GET', path)).json.rollouts
    await request('DELETE', `${path}/${b.id}`)
    t.same(
      (await seen()).map(({ id, rank }) => [id, rank]),
      [
        [a.id, 1],
        [c.id, 2],
        [d.id, 3],
      ],
    )
    t.equal((await seen())[0]?.updatedAt, a['updatedAt'], 'what did not move keeps its time')
    t.same((await request('PUT', `${path}/order`, { rolloutIds: [d.id, a.id] })).json, {})
    t.same(
      (await seen()).map(({ id, rank }) => [id, rank]),
      [
        [d.id, 1],
        [a.id, 2],
        [c.id, 3],
      ],
    )
    await refused(
      t,
      ['PUT', `${path}/order`, { rolloutIds: [] }],
      'invalid field rolloutIds: must contain atleast 2 elements',
    )
    await refused(
      t,
      ['PUT', `${path}/order`, { rolloutIds: [a.id, a.id] }],
      'invalid field rolloutIds: must not contain duplicates',
    )
    await refused(
      t,
      ['PUT', `${path}/order`, { rolloutIds: [a.id, b.id] }],
      `invalid field rolloutIds: contains unknown id "${b.id}"`,
    )
    await refused(
      t,
      ['PUT', `${N}/flags/none/rollouts/order`, { rolloutIds: ['x', 'y'] }],
      'flag "default/none" not found',
      'not_found',
    )
  })

  await t.test('a flag may have the parts of the other flag type, and they are stored', async (t) => {
    await create(t, '/api/v1/flags', { key: 'variants', name: 'x' })
    await create(t, `${N}/flags/variants/rollouts`, threshold(50))
    await create(t, `${N}/flags/f/rules`, { segmentKey: 's1' })
    await create(t, `${N}/flags/f/variants`, { key: 'v' })
    t.match((await request('GET', `${N}/flags/f`)).headers, { etag: '"4"' })
  })
})

import t from 'tap'
import { startService } from '../../start.ts'
import { creator, refuses } from './refusals.ts'

const N = '/api/v1/namespaces/default'
type Part = { readonly id: string; readonly rank: number; readonly updatedAt: string }

await t.test('rules and distributions are created, read, changed and deleted', async (t) => {
  const service = await startService(t)
  const { request } = service
  const refused = refuses(service)
  const create = creator(service)
  for (const key of ['s1', 's2', 's3']) await create(t, '/api/v1/segments', { key, name: key })
  const flag = async (key: string) => {
    await create(t, '/api/v1/flags', { key, name: key })
    return `${N}/flags/${key}/rules`
  }
  const ranks = async (path: string) =>
    (await request<{ rules: Part[] }>('GET', path)).json.rules.map(({ id, rank }) => [id, rank])

  await t.test('a rule returns one segment in segmentKey and several in segmentKeys', async (t) => {
    const rules = await flag('shapes')
    const one = await create(t, rules, { segmentKey: 's1', segmentOperator: 'AND_SEGMENT_OPERATOR' })
    const { id, createdAt, updatedAt, ...rest } = one
    t.match(id, /^[\da-f-]{36}$/)
    t.equal(createdAt, updatedAt)
    t.same(rest, {
      flagKey: 'shapes',
      namespaceKey: 'default',
      segmentKey: 's1',
      segmentKeys: [],
      segmentOperator: 'OR_SEGMENT_OPERATOR',
      rank: 1,
      distributions: [],
    })
    t.match(await create(t, rules, { segment_keys: ['s2', 's1', 's2'], segment_operator: 1 }), {
      segmentKey: '',
      segmentKeys: ['s2', 's1'],
      segmentOperator: 'AND_SEGMENT_OPERATOR',
      rank: 2,
    })
    t.match(await create(t, rules, { segmentKeys: ['s3', 's3'], segmentOperator: 1 }), {
      segmentKey: 's3',
      segmentKeys: [],
      segmentOperator: 'OR_SEGMENT_OPERATOR',
    })
    t.match((await request('PUT', `${rules}/${id}`, { segmentKeys: ['s1', 's3'], rank: 9 })).json, {
      id,
      rank: 1,
      segmentKeys: ['s1', 's3'],
    })
    t.match((await request('GET', `/api/v1/flags/shapes/rules/${id}`)).json, { id, segmentKeys: ['s1', 's3'] })
  })

  await t.test('a rule is added last by default; a used rank is refused, and removal closes the gap', async (t) => {
    const rules = await flag('ranks')
    const a = await create(t, rules, { segmentKey: 's1' })
    const b = await create(t, rules, { segmentKey: 's1', rank: '7' })
    const c = await create(t, rules, { segmentKey: 's1', rank: 0 })
    const d = await create(t, rules, { segmentKey: 's1', rank: 3 })
    t.same(await ranks(rules), [
      [a.id, 1],
      [d.id, 3],
      [b.id, 7],
      [c.id, 8],
    ])
    await refused(t, ['POST', rules, { segmentKey: 's1', rank: 7 }], 'rank number: 7 already exists', 'rank_taken')
    await refused(t, ['POST', rules, { segmentKey: 's1', rank: -1 }], 'invalid field rank: must be greater than 0')
    await refused(t, ['POST', rules, { segmentKey: 's1', rank: 1.5 }], 'invalid field rank: must be an integer')
    t.same((await request('DELETE', `${rules}/${a.id}`)).json, {})
    t.same(await ranks(rules), [
      [d.id, 1],
      [b.id, 2],
      [c.id, 3],
    ])
    t.same((await request('PUT', `${rules}/order`, { ruleIds: [c.id, d.id] })).json, {})
    t.same(await ranks(rules), [
      [c.id, 1],
      [d.id, 2],
      [b.id, 3],
    ])
    await refused(
      t,
      ['PUT', `${rules}/order`, { ruleIds: [c.id] }],
      'invalid field ruleIds: must contain atleast 2 elements',
    )
    await refused(
      t,
      ['PUT', `${rules}/order`, { ruleIds: [c.id, c.id] }],
      'invalid field ruleIds: must not contain duplicates',
    )
    await refused(
      t,
      ['PUT', `${rules}/order`, { ruleIds: [c.id, 'x'] }],
      'invalid field ruleIds: contains unknown id "x"',
    )
    await refused(
      t,
      ['PUT', `${N}/flags/none/rules/order`, { ruleIds: ['x', 'y'] }],
      'flag "default/none" not found',
      'not_found',
    )
    t.match((await request('PUT', `/api/v1/flags/ranks/rules/order`, { rule_ids: [b.id, d.id, c.id] })).status, 200)
    t.same(await ranks(rules), [
      [b.id, 1],
      [d.id, 2],
      [c.id, 3],
    ])
  })

  await t.test('invalid fields and missing parts of rules are refused', async (t) => {
    const rules = await flag('wrong')
    const other = await flag('other')
    const mine = await create(t, rules, { segmentKey: 's1' })
    const path = `${rules}/${mine.id}`
    for (const [method, url] of [
      ['POST', rules],
      ['PUT', path],
    ] as const) {
      await refused(t, [method, url, {}], 'invalid field segmentKey or segmentKeys: must not be empty')
      await refused(
        t,
        [method, url, { segmentKey: '', segmentKeys: [] }],
        'invalid field segmentKey or segmentKeys: must not be empty',
      )
      await refused(
        t,
        [method, url, { segmentKey: 's1', segmentKeys: ['s2'] }],
        'invalid field segmentKey or segmentKeys: only one can be present',
      )
      await refused(
        t,
        [method, url, { segmentKeys: ['s1', 'm1', 'm2'] }],
        'flag "default/wrong" or segment "default/m1" not found',
        'not_found',
      )
    }
    await refused(
      t,
      ['POST', `${N}/flags/none/rules`, { segmentKey: 's1' }],
      'flag "default/none" or segment "default/s1" not found',
      'not_found',
    )
    await refused(t, ['PUT', `${rules}/nope`, { segmentKey: 's1' }], 'rule "default/nope" not found', 'not_found')
    await refused(t, ['GET', `${rules}/nope`], 'rule "default/nope" not found', 'not_found')
    await refused(t, ['GET', `${other}/${mine.id}`], `rule "default/${mine.id}" not found`, 'not_found')
    await refused(
      t,
      ['PUT', `${other}/${mine.id}`, { segmentKey: 's1' }],
      `rule "default/${mine.id}" not found`,
      'not_found',
    )
    t.equal((await request('DELETE', `${other}/${mine.id}`)).status, 200)
    t.equal((await request('GET', path)).status, 200, 'addressed under another flag it is missing')
    t.match((await request('GET', `${N}/flags/none/rules`)).json, { rules: [], totalCount: 0, nextPageToken: '' })
  })

  await t.test('distributions of a rule are created, changed and deleted', async (t) => {
    const rules = await flag('shares')
    const one = await create(t, `${N}/flags/shares/variants`, { key: 'one' })
    const two = await create(t, `${N}/flags/shares/variants`, { key: 'two' })
    const rule = await create(t, rules, { segmentKey: 's1' })
    const path = `${rules}/${rule.id}/distributions`
    const made = await request<Part>('POST', path, { variantId: one.id, rollout: '33.33' })
    t.match(made.json, {
      id: /^[\da-f-]{36}$/,
      ruleId: rule.id,
      variantId: one.id,
      rollout: 33.33,
      createdAt: /\.\d{3}Z$/,
    })
    t.match(made.text, /"rollout":33\.33[,}]/)
    await create(t, path, { variantId: one.id, rollout: 33.33 })
    const third = await create(t, path, { variantId: two.id, rollout: 33.34 })
    const warning = (percent: string) =>
      `299 - "the shares give ${percent} %: engines that evaluate by themselves give all entities to these variants"`
    t.equal(made.headers['warning'], warning('33.3'))
    const whole = (rollout: number) => request('PUT', `${path}/${third.id}`, { variantId: two.id, rollout })
    t.equal((await whole(33.34)).headers['warning'], warning('99.9'))
    t.equal((await whole(0)).headers['warning'], warning('66.6'))
    await whole(33.34)
    t.match((await request('GET', `${rules}/${rule.id}`)).json, {
      distributions: [made.json, { rollout: 33.33 }, { rollout: 33.34 }],
    })

    const tooMuch = 'invalid field rollout: distributions of a rule must not exceed 100 in total'
    await refused(t, ['POST', path, { variantId: one.id, rollout: 0.1 }], tooMuch)
    await refused(t, ['PUT', `${path}/${third.id}`, { variantId: two.id, rollout: 34 }], tooMuch)
    await refused(
      t,
      ['POST', path, { variantId: one.id, rollout: -1 }],
      "invalid field rollout: must be greater than or equal to '0'",
    )
    await refused(
      t,
      ['POST', path, { variantId: one.id, rollout: 100.1 }],
      "invalid field rollout: must be less than or equal to '100'",
    )
    await refused(t, ['POST', path, { variantId: one.id, rollout: 'NaN' }], 'invalid field rollout: must be a number')
    await refused(t, ['POST', path, { rollout: 1 }], 'invalid field variantId: must not be empty')
    const missing = (variant: string, rule: string, flag: string) =>
      `variant "${variant}", rule "${rule}", flag "${flag}" in namespace "default" not found`
    await refused(t, ['POST', path, { variantId: 'v', rollout: 0 }], missing('v', rule.id, 'shares'), 'not_found')
    await refused(
      t,
      ['POST', `${rules}/r/distributions`, { variantId: one.id }],
      missing(one.id, 'r', 'shares'),
      'not_found',
    )
    await refused(
      t,
      ['POST', `${N}/flags/none/rules/r/distributions`, { variantId: 'v' }],
      missing('v', 'r', 'none'),
      'not_found',
    )
    await refused(t, ['PUT', `${path}/none`, { variantId: one.id }], 'distribution "none" not found', 'not_found')

    t.match((await request('PUT', `${path}/${third.id}`, { variantId: one.id, rollout: 0.1 })).json, {
      id: third.id,
      variantId: one.id,
      rollout: 0.1,
    })
    await refused(t, ['DELETE', `${path}/${third.id}`], 'invalid field variantId: must not be empty')
    const count = async () =>
      (await request<{ distributions: Part[] }>('GET', `${rules}/${rule.id}`)).json.distributions.length
    t.same((await request('DELETE', `${path}/${third.id}?variantId=${two.id}`)).json, {})
    t.equal(await count(), 3, 'it gives another variant')
    t.same((await request('DELETE', `${path}/${third.id}?variant_id=${one.id}`)).json, {})
    t.equal(await count(), 2)
    await request('DELETE', `${N}/flags/shares/variants/${one.id}`)
    t.equal(await count(), 0, 'a variant takes its distributions along')
  })

  await t.test('a segment in use cannot be deleted until it is no longer used', async (t) => {
    const rules = await flag('uses')
    await create(t, '/api/v1/segments', { key: 'used', name: 'x' })
    const rule = await create(t, rules, { segmentKeys: ['used', 's1'] })
    await refused(t, ['DELETE', `${N}/segments/used`], 'segment "default/used" is in use', 'in_use')
    await request('PUT', `${rules}/${rule.id}`, { segmentKey: 's1' })
    t.equal((await request('DELETE', `${N}/segments/used`)).status, 200)
    await create(t, '/api/v1/segments', { key: 'used', name: 'x' })
    await create(t, rules, { segmentKey: 'used' })
    await request('DELETE', `${N}/flags/uses`)
    t.equal((await request('DELETE', `${N}/segments/used`)).status, 200, 'the flag took its rules along')
  })
})

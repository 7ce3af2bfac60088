import t from 'tap'
import { startService } from '../../start.ts'
import { creator, refuses } from './refusals.ts'

const N = '/api/v1/namespaces/default'

await t.test('segments and constraints are created, read, changed and deleted', async (t) => {
  const service = await startService(t)
  const { request } = service
  const refused = refuses(service)
  const create = creator(service)
  const first = await create(t, '/api/v1/segments', { key: 's', name: 'S' })
  const path = `${N}/segments/s/constraints`

  await t.test('a segment is created with defaults, and can be replaced and deleted', async (t) => {
    const { createdAt, updatedAt, ...rest } = first
    t.equal(createdAt, updatedAt)
    t.same(rest, {
      key: 's',
      namespaceKey: 'default',
      name: 'S',
      description: '',
      matchType: 'ALL_MATCH_TYPE',
      constraints: [],
    })
    t.match((await request('PUT', '/api/v1/segments/s', { name: 'T', matchType: 'ANY_MATCH_TYPE' })).json, {
      name: 'T',
      matchType: 'ANY_MATCH_TYPE',
    })
    t.match((await request('PUT', `${N}/segments/s`, { name: 'T' })).json, { matchType: 'ALL_MATCH_TYPE' })
    await refused(
      t,
      ['POST', '/api/v1/segments', { key: 's', name: 'x' }],
      'segment "default/s" is not unique',
      'not_unique',
    )
    await refused(
      t,
      ['POST', '/api/v1/segments', { key: 't', name: 'x', matchType: 7 }],
      'invalid field matchType: unknown value "7"',
    )
    await refused(t, ['PUT', `${N}/segments/none`, { name: 'x' }], 'segment "default/none" not found', 'not_found')
    await refused(t, ['GET', `${N}/segments/none`], 'segment "default/none" not found', 'not_found')
    await create(t, '/api/v1/segments', { key: 'gone', name: 'x' })
    t.same((await request('DELETE', `${N}/segments/gone`)).json, {})
    await refused(t, ['GET', `${N}/segments/gone`], 'segment "default/gone" not found', 'not_found')
  })

  await t.test('constraints are stored in a canonical form', async (t) => {
    const stored = async (
      type: string | number,
      operator: string,
      value: string,
      property = type === 5 ? 'entityId' : 'p',
    ) => {
      const { id, operator: kept, value: text } = await create(t, path, { type, property, operator, value })
      await request('DELETE', `${path}/${id}`)
      return [kept, text]
    }
    t.same(await stored('STRING_COMPARISON_TYPE', 'EQ', ' a '), ['eq', ' a '])
    t.same(await stored(2, 'lte', 'not a number'), ['lte', 'not a number'])
    t.same(await stored(3, 'true', 'x'), ['true', ''])
    t.same(await stored(4, 'gt', '2024-01-02T03:04:05.678+02:00'), ['gt', '2024-01-02T01:04:05Z'])
    t.same(await stored(5, 'contains', 'x'), ['contains', 'x'])
  })

  await t.test('a constraint is returned with its segment, and can be replaced and deleted', async (t) => {
    const made = await create(t, '/api/v1/segments/s/constraints', {
      type: 5,
      property: 'entityId',
      operator: 'eq',
      value: 'x',
      description: 'd',
    })
    const { id, createdAt, updatedAt, ...rest } = made
    t.equal(createdAt, updatedAt)
    t.same(rest, {
      segmentKey: 's',
      namespaceKey: 'default',
      type: 'ENTITY_ID_COMPARISON_TYPE',
      property: 'entityId',
      operator: 'eq',
      value: 'x',
      description: 'd',
    })
    t.match((await request('GET', `${N}/segments/s`)).json, { constraints: [made] })
    t.match((await request('PUT', `${path}/${id}`, { type: 2, property: 'n', operator: 'GT', value: '1' })).json, {
      id,
      type: 'NUMBER_COMPARISON_TYPE',
      property: 'n',
      operator: 'gt',
      value: '1',
      description: '',
    })
    t.same((await request('DELETE', `${path}/${id}`)).json, {})
    t.match((await request('GET', `${N}/segments/s`)).json, { constraints: [] })
    await refused(
      t,
      ['PUT', `${path}/${id}`, { type: 1, property: 'p', operator: 'eq', value: 'x' }],
      `constraint "${id}" not found`,
      'not_found',
    )
  })

  await t.test('invalid constraints are refused', async (t) => {
    const ask = (body: object) =>
      ['POST', path, { type: 1, property: 'p', operator: 'eq', value: 'x', ...body }] as const
    await refused(t, ask({ property: 'p'.repeat(256) }), 'invalid field property: must be at most 255 characters')
    await refused(
      t,
      ask({ description: 'd'.repeat(10_001) }),
      'invalid field description: must be at most 10000 characters',
    )
    await refused(t, ask({ type: 0 }), 'invalid constraint type: "UNKNOWN_COMPARISON_TYPE"')
    await refused(t, ask({ type: 6 }), 'invalid field type: unknown value "6"')
    await refused(t, ask({ operator: 'lt' }), 'constraint operator "lt" is not valid for type string')
    await refused(t, ask({ type: 5 }), 'property is p instead of "entityId"')
    await refused(t, ask({ value: '' }), 'invalid field value: must not be empty')
    await refused(
      t,
      ask({ operator: 'isoneof', value: '[1]' }),
      'invalid value provided for property "p" of type string',
    )
    const many = JSON.stringify(Array.from({ length: 101 }, (_, n) => n))
    await refused(
      t,
      ask({ type: 2, operator: 'isoneof', value: many }),
      'too many values provided for property "p" of type number (maximum 100)',
    )
    await create(t, path, { type: 2, property: 'p', operator: 'isoneof', value: many.replace(',100]', ']') })
    await refused(t, ask({ type: 4, value: 'now' }), 'parsing datetime from "now"')
    await refused(
      t,
      ['POST', `${N}/segments/none/constraints`, { type: 1, property: 'p', operator: 'eq', value: 'x' }],
      'segment "default/none" not found',
      'not_found',
    )
  })
})

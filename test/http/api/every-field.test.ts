import t from 'tap'
import { startService } from '../../start.ts'

type Schema = {
  readonly $ref?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
}
type Operation = { readonly requestBody: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> } }
type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}
type Body = Readonly<Record<string, unknown>>
type Made = { readonly id: string }

const N = '/api/v1/namespaces/{namespaceKey}'

/** Names `a` and `a.b` of all members of a schema or body, except the client's own in metadata. */
const namesIn = (members: object, inside: (member: unknown) => object | undefined): string[] =>
  Object.entries(members).flatMap(([name, member]) => {
    const within = name === 'metadata' ? undefined : inside(member)
    return [name, ...(within ? namesIn(within, inside).map((each) => `${name}.${each}`) : [])]
  })
const inBody = (body: Body): string[] =>
  namesIn(body, (member) => (typeof member === 'object' && !Array.isArray(member) ? member! : undefined))

/** Expected answer: segments by one key or several, a default variant as object, the rest as sent. */
const shown = ({ segment, defaultVariantId, ...rest }: Body): Body => ({
  ...rest,
  ...(segment !== undefined && { segment: shown(segment as Body) }),
  ...(defaultVariantId !== undefined && { defaultVariant: { id: defaultVariantId } }),
})

await t.test('every field of a request is stored and returned', async (t) => {
  const { request } = await startService(t)
  const { paths, components } = (await request<Document>('GET', '/openapi.json')).json
  const followed = ({ $ref, ...schema }: Schema): Schema =>
    $ref ? components.schemas[$ref.split('/').at(-1)!]! : schema
  const inSchema = (schema: Schema) =>
    namesIn(followed(schema).properties ?? {}, (member) => followed(member as Schema).properties)

  /**
   * Sends each body to the path (`params` may have one for each) and checks the answers; together the bodies have all
   * fields. Returns the ids.
   */
  const all = async (
    method: 'POST' | 'PUT',
    template: string,
    params: readonly (string | readonly string[])[],
    ...bodies: readonly Body[]
  ) => {
    const { schema } = Object.values(paths[template]![method.toLowerCase()]!.requestBody.content)[0]!
    const known = [...new Set(bodies.flatMap(inBody))].sort()
    t.strictSame(known, inSchema(schema).sort(), `${method} ${template}: this test has every field of the contract`)
    const ids: string[] = []
    for (const [n, body] of bodies.entries()) {
      const left = params.map((each) => (typeof each === 'string' ? each : each[n]!))
      const path = template.replaceAll(/\{\w+\}/g, () => left.shift()!)
      const { json, status, text } = await request<Made>(method, path, body)
      t.equal(status, 200, text)
      t.match(json, shown(body), `${method} ${template}`)
      ids.push(json.id)
      const read = await request('GET', method === 'PUT' ? path : `${path}/${json.id ?? String(body['key'])}`)
      // Some parts have no GET route.
      if (read.status !== 405) t.match(read, { status: 200, json: shown(body) }, `GET of ${template}`)
    }
    return ids
  }

  await all('POST', '/api/v1/namespaces', [], { key: 'ns', name: 'one', description: 'a' })
  await all('PUT', N, ['ns'], { name: 'two', description: 'b' })

  const segment = { name: 'one', description: 'a', matchType: 'ANY_MATCH_TYPE' }
  await all('POST', `${N}/segments`, ['ns'], { key: 's', ...segment }, { key: 'r', ...segment })
  await all('PUT', `${N}/segments/{key}`, ['ns', 's'], { name: 'two', description: 'b', matchType: 'ALL_MATCH_TYPE' })
  const constraint = { type: 'STRING_COMPARISON_TYPE', property: 'p', operator: 'eq', value: 'v', description: 'a' }
  const constraints = `${N}/segments/{segmentKey}/constraints`
  const [constraintId] = await all('POST', constraints, ['ns', 's'], constraint)
  const other = { type: 'NUMBER_COMPARISON_TYPE', property: 'q', operator: 'lt', value: '1', description: 'b' }
  await all('PUT', `${constraints}/{id}`, ['ns', 's', constraintId!], other)

  const flag = { name: 'one', description: 'a', enabled: true, metadata: { a: 1 } }
  await all('POST', `${N}/flags`, ['ns'], { key: 'f', type: 'VARIANT_FLAG_TYPE', ...flag })
  const variants = `${N}/flags/{flagKey}/variants`
  const [variantId] = await all(
    'POST',
    variants,
    ['ns', 'f'],
    { key: 'x', name: 'one', description: 'a', attachment: '{"a":1}' },
    { key: 'v', name: 'one', description: 'a', attachment: '{"a":1}' },
  )
  const changed = { key: 'w', name: 'two', description: 'b', attachment: '[2]' }
  await all('PUT', `${variants}/{id}`, ['ns', 'f', variantId!], changed)
  const update = { name: 'two', description: 'b', enabled: false, metadata: { b: 2 }, defaultVariantId: variantId }
  await all('PUT', `${N}/flags/{key}`, ['ns', 'f'], update)

  const rules = `${N}/flags/{flagKey}/rules`
  const several = { segmentKeys: ['s', 'r'], segmentOperator: 'AND_SEGMENT_OPERATOR' }
  const [ruleId] = await all('POST', rules, ['ns', 'f'], { segmentKey: 's', rank: 1 }, { ...several, rank: 2 })
  await all('PUT', `${rules}/{id}`, ['ns', 'f', ruleId!], { segmentKey: 'r' }, several)
  const distributions = `${rules}/{ruleId}/distributions`
  const [shareId] = await all('POST', distributions, ['ns', 'f', ruleId!], { variantId, rollout: 33.33 })
  await all('PUT', `${distributions}/{id}`, ['ns', 'f', ruleId!, shareId!], { variantId, rollout: 50 })

  const rollouts = `${N}/flags/{flagKey}/rollouts`
  const threshold = (percentage: number, value: boolean, description: string) => ({
    description,
    threshold: { percentage, value },
  })
  const bySegments = { description: 'c', segment: { ...several, value: true } }
  const bySegment = { description: 'd', segment: { segmentKey: 'r', value: false } }
  const first = { rank: 1, ...threshold(33.33, true, 'a') }
  const rolloutIds = await all('POST', rollouts, ['ns', 'f'], first, bySegments, bySegment)
  const updates = [threshold(50, false, 'b'), { ...bySegment, description: 'e' }, bySegments]
  await all('PUT', `${rollouts}/{id}`, ['ns', 'f', rolloutIds], ...updates)

  const { rank: _last, ...fields } = first
  const added = [fields, bySegments]
  const changes = added.map((body) => ({ op: 'rollout.create', ...body }))
  const batch = await request<{ rollouts: object[] }>('POST', '/api/v1/namespaces/ns/flags/f/changes', { changes })
  t.match(batch.json.rollouts.slice(-added.length), added.map(shown), 'a batch stores every field of a new rollout')
})

await t.test('a batch of changes accepts every field of the single requests', async (t) => {
  const { request } = await startService(t)
  const { schemas } = (await request<Document>('GET', '/openapi.json')).json.components
  type Kind = {
    readonly allOf: readonly [{ readonly properties: { readonly op: { readonly const: string } } }, Schema]
  }
  const kinds = ['FlagChange', 'SegmentChange'].flatMap((name) => (schemas[name] as unknown as { anyOf: Kind[] }).anyOf)
  const membersOf = (op: string) => {
    const kind = kinds.find(({ allOf: [{ properties }] }) => properties.op.const === op)
    return Object.keys(kind?.allOf[1].properties ?? {}).sort()
  }
  const same = (op: string, body: string, { without = [], and = [] }: Readonly<Record<string, string[]>> = {}) => {
    const own = Object.keys(schemas[body]?.properties ?? {}).filter((name) => !without.includes(name))
    t.ok(own.length > 0, body)
    t.strictSame(membersOf(op), [...own, ...and].sort(), op)
  }
  same('flag.update', 'FlagUpdate')
  same('variant.create', 'VariantBody', { and: ['ref'] })
  same('variant.update', 'VariantBody', { and: ['id'] })
  same('rollout.create', 'NewRollout', { without: ['rank'], and: ['ref'] })
  same('rollout.update', 'RolloutUpdate', { and: ['id'] })
  same('rule.create', 'NewRule', { without: ['rank'], and: ['ref', 'distributions'] })
  same('rule.update', 'RuleUpdate', { and: ['id', 'distributions'] })
  same('segment.update', 'SegmentUpdate')
  same('constraint.create', 'ConstraintBody', { and: ['ref'] })
  same('constraint.update', 'ConstraintBody', { and: ['id'] })
  t.equal(kinds.length, 16)
})

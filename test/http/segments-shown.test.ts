import t from 'tap'
import { type Fields, type Started, startService } from '../start.ts'
import { granted, withNamespaces } from './granted.ts'

const N = '/api/v1/namespaces'
const must = async ({ request }: Started, path: string, body: Fields) => {
  const { status, text, json } = await request('POST', path, body)
  if (status !== 200) throw new Error(`${path}: ${status} ${text}`)
  return json
}

/** Both namespaces have a boolean and a variant flag that use the segment `all`. */
const service = await withNamespaces(await startService(t), 'shop', 'desk')
for (const key of ['shop', 'desk']) {
  const at = `${N}/${key}`
  await must(service, `${at}/segments`, { key: 'all', name: 'all' })
  await must(service, `${at}/flags`, { key: 'yes', name: 'yes', type: 'BOOLEAN_FLAG_TYPE' })
  await must(service, `${at}/flags/yes/rollouts`, { segment: { segmentKey: 'all', value: true } })
  await must(service, `${at}/flags`, { key: 'which', name: 'which', enabled: true })
  const { id } = await must(service, `${at}/flags/which/variants`, { key: 'one', name: 'one', attachment: '{"a":1}' })
  const rule = await must(service, `${at}/flags/which/rules`, { segmentKey: 'all' })
  await must(service, `${at}/flags/which/rules/${String(rule['id'])}/distributions`, { variantId: id, rollout: 100 })
}

const grants = (...all: readonly (readonly [string, ...string[]])[]) => ({
  grants: all.map(([namespaceKey, ...rights]) => ({ namespaceKey, rights })),
})
type Answer = { readonly segmentKeys: readonly string[] } & Fields
const own = ['requestId', 'requestDurationMillis', 'timestamp']
const steady = (answer: Fields): Fields =>
  Object.fromEntries(Object.entries(answer).filter(([name]) => !own.includes(name)))

/** Sends the same request as administrator, who sees everything, and with a token. */
const asker = async (asked: Fields) => {
  const { headers } = await granted(service, asked)
  return async (path: string, body: Fields, more = {}) => {
    const ask = (by: object) => service.request<Answer>('POST', path, body, { ...by, ...more })
    const [all, own] = [await ask({}), await ask(headers)]
    return { all: { ...all, json: steady(all.json) }, own: { ...own, json: steady(own.json) } }
  }
}
const entity = { entityId: 'e', context: {} }

await t.test('matched segments are shown to callers with segment.read or flag.snapshot', async (t) => {
  for (const right of ['segment.read', 'flag.snapshot']) {
    const ask = await asker(grants(['shop', 'flag.evaluate', right]))
    for (const [kind, flagKey] of [
      ['boolean', 'yes'],
      ['variant', 'which'],
    ]) {
      const { all, own } = await ask(`/evaluate/v1/${kind}`, { namespaceKey: 'shop', flagKey, ...entity })
      t.strictSame(own.json, all.json)
      t.strictSame(own.json['segmentKeys'], ['all'])
    }
  }
})

await t.test('callers without these rights get everything except segments', async (t) => {
  const ask = await asker(grants(['shop', 'flag.evaluate'], ['desk', 'flag.evaluate', 'segment.read']))
  for (const [kind, flagKey] of [
    ['boolean', 'yes'],
    ['variant', 'which'],
  ] as const)
    for (let n = 0; n < 2; n++) {
      const { all, own } = await ask(`/evaluate/v1/${kind}`, { namespaceKey: 'shop', flagKey, ...entity })
      t.strictSame(all.json['segmentKeys'], ['all'])
      t.strictSame(own.json, { ...all.json, segmentKeys: [] })
    }

  const requests = ['shop', 'desk'].flatMap((namespaceKey) =>
    ['yes', 'which'].map((flagKey) => ({ namespaceKey, flagKey, ...entity })),
  )
  type Response = { readonly booleanResponse?: Answer; readonly variantResponse?: Answer }
  const { own } = await ask('/evaluate/v1/batch', { requests })
  const told = (own.json['responses'] as readonly Response[]).map(
    ({ booleanResponse, variantResponse }) => (booleanResponse ?? variantResponse)?.segmentKeys,
  )
  t.strictSame(told, [[], [], ['all'], ['all']], 'by the namespace of each')

  for (const [namespaceKey, keys] of [
    ['shop', []],
    ['desk', ['all']],
  ] as const)
    for (const path of ['/api/v1', `${N}/${namespaceKey}`]) {
      const { all, own } = await ask(`${path}/evaluate`, { namespaceKey, flagKey: 'which', ...entity })
      t.strictSame(own.json, { ...all.json, segmentKeys: keys, segmentKey: keys[0] ?? '' })
      const many = await ask(`${path}/batch-evaluate`, { namespaceKey, requests: [{ flagKey: 'which', ...entity }] })
      const [first] = many.own.json['responses'] as readonly Answer[]
      t.strictSame([first?.segmentKeys, first?.['segmentKey']], [keys, keys[0] ?? ''])
    }
})

await t.test('the trace of an evaluation shows segments to callers that may read flags', async (t) => {
  const no = `${N}/shop/segments`
  const never = { type: 'STRING_COMPARISON_TYPE', property: 'plan', operator: 'eq', value: 'pro' }
  await must(service, no, { key: 'none', name: 'none' })
  await must(service, `${no}/none/constraints`, never)
  await must(service, `${N}/shop/flags`, { key: 'steps', name: 'steps', type: 'BOOLEAN_FLAG_TYPE' })
  for (const segmentKey of ['none', 'all'])
    await must(service, `${N}/shop/flags/steps/rollouts`, { segment: { segmentKey, value: true } })
  const ask = await asker(grants(['shop', 'flag.evaluate', 'flag.read']))
  const { all, own } = await ask('/evaluate/v1/boolean?explain=true', {
    namespaceKey: 'shop',
    flagKey: 'steps',
    ...entity,
  })
  t.match(all.json, {
    segmentKeys: ['all'],
    trace: [{ failedConstraints: [{ segmentKey: 'none', ...never }] }, { segmentKeys: ['all'] }],
  })
  t.strictSame(own.json, { ...all.json, segmentKeys: [] })
})

await t.test('OpenFeature answers contain no segments for callers without the right to see them', async (t) => {
  const ask = await asker(grants(['shop', 'flag.evaluate'], ['desk', 'flag.evaluate', 'flag.snapshot']))
  const context = { targetingKey: 'e' }
  for (const [namespace, metadata] of [
    ['shop', { attachment: '{"a":1}' }],
    ['desk', { attachment: '{"a":1}', segments: 'all' }],
  ] as const) {
    const inNamespace = { 'x-service-namespace': namespace }
    const one = await ask('/ofrep/v1/evaluate/flags/which', { context }, inNamespace)
    t.strictSame(one.own.json, { ...one.all.json, metadata })
    const { all, own } = await ask('/ofrep/v1/evaluate/flags', { context }, inNamespace)
    const flags = own.json['flags'] as readonly { readonly key: string; readonly metadata: Fields }[]
    t.strictSame(flags.find(({ key }) => key === 'which')?.metadata, metadata)
    t.ok(own.headers.etag)
    t.equal(own.headers.etag === all.headers.etag, namespace === 'desk')
    const again = await ask(
      '/ofrep/v1/evaluate/flags',
      { context },
      { ...inNamespace, 'if-none-match': own.headers.etag },
    )
    t.equal(again.own.status, 304)
    t.equal(again.all.status, namespace === 'desk' ? 304 : 200, 'the answers to the two differ')
  }
})

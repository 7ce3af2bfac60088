import t from 'tap'
import { booleanBucket, variantBucket } from '../../../src/evaluation/bucket.ts'
import { startService } from '../../start.ts'
import { maker } from '../flags.ts'

const N = '/api/v1/namespaces/default'
const GIVES_ALL = 'engines that evaluate by themselves give all entities to these variants'
const of = (text: string) => `299 - "${text}: ${GIVES_ALL}"`

/** One entity for each bucket of a flag. */
const entitiesOf = (size: number, bucketOf: (entityId: string) => number): readonly string[] => {
  const found = new Map<number, string>()
  for (let n = 0; found.size < size; n++) found.set(bucketOf(`e${n}`), `e${n}`)
  return [...found.values()]
}

type Percentage = { readonly percentage: number; readonly countsAs?: number }
type Share = { readonly rollout: number; readonly countsAs?: number }
type Listed = {
  readonly rollouts: readonly { readonly threshold: Percentage }[]
  readonly rules: readonly { readonly distributions: readonly Share[] }[]
}
type Batch = {
  readonly responses: readonly {
    readonly booleanResponse?: { readonly enabled: boolean }
    readonly variantResponse?: { readonly match: boolean }
  }[]
}

await t.test('an answer has each percentage as it was given and as it counts, without noise', async (t) => {
  const { request } = await startService(t)
  const make = maker({ request })
  await make.segment('all')
  /** Number of entities, one for each bucket, that get true or a variant. */
  const reached = async (flagKey: string, entities: readonly string[]) => {
    const requests = entities.map((entityId) => ({ namespaceKey: 'default', flagKey, entityId }))
    const { json } = await request<Batch>('POST', '/evaluate/v1/batch', { requests })
    return json.responses.filter((one) => one.booleanResponse?.enabled ?? one.variantResponse?.match).length
  }
  const noisy: string[] = []
  const quiet = async (path: string, body?: object) => {
    const { text, json } = await request<Listed>(body ? 'POST' : 'GET', path, body)
    if (/\d\.\d{8}/.test(text)) noisy.push(`${path}: ${text}`)
    return json
  }
  const counted: unknown[] = []
  for (const [n, given] of [0.01, 0.1, 12, 33.33, 99.01].entries()) {
    const [flag, ruled] = [`f${n}`, `v${n}`]
    await make.boolean(flag)
    await make.threshold(flag, given)
    await make.variantFlag(ruled)
    const rule = await make.rule(ruled, { segmentKey: 'all' }, { [await make.variant(ruled, 'a')]: given })
    const [threshold] = (await quiet(`${N}/flags/${flag}/rollouts`)).rollouts
    const [share] = (await quiet(`${N}/flags/${ruled}/rules`)).rules
    t.same(await quiet(`${N}/flags/${ruled}/rules/${rule}`), share)
    const { percentage, countsAs = percentage } = threshold!.threshold
    const { rollout, countsAs: portion = rollout } = share!.distributions[0]!
    t.same([percentage, rollout], [given, given])
    const buckets = entitiesOf(100, (id) => booleanBucket(id, flag))
    t.equal(await reached(flag, buckets), countsAs, `${given} % of entities`)
    const thousand = entitiesOf(1000, (id) => variantBucket(ruled, id))
    t.equal((await reached(ruled, thousand)) / 10, portion, `${given} % of a rule`)
    counted.push([given, countsAs, portion])
    for (const [path, flagKey] of [
      ['boolean', flag],
      ['variant', ruled],
    ] as const)
      await quiet(`/evaluate/v1/${path}?explain=true`, { flagKey, entityId: 'e' })
  }
  t.same(counted, [
    [0.01, 1, 0],
    [0.1, 1, 0.1],
    [12, 12, 12],
    [33.33, 34, 33.3],
    [99.01, 100, 99],
  ])
  const at = encodeURIComponent(new Date(Date.now() + 1).toISOString())
  for (const path of [
    `${N}/flags?include=targeting`,
    `${N}/flags/f1/rollouts?at=${at}`,
    `${N}/flags/v3/rules?at=${at}`,
    '/audit/v1/events?limit=1000',
    '/audit/v1/events?format=ndjson',
    '/audit/v1/events?format=csv',
    '/internal/v1/evaluation/snapshot/namespace/default',
  ])
    await quiet(path)
  t.same(noisy, [])
})

await t.test('each write that leaves shares below 100 % answers with a warning', async (t) => {
  const { request } = await startService(t)
  const make = maker({ request })
  await make.segment('all')
  await make.variantFlag('f')
  const [a, b] = [await make.variant('f', 'a'), await make.variant('f', 'b')]
  const F = `${N}/flags/f`
  const changed = (query: string, ...changes: readonly object[]) => request('POST', `${F}/changes${query}`, { changes })
  const warningOf = async (answer: Promise<{ status: number; text: string; headers: object }>) => {
    const { status, text, headers } = await answer
    t.equal(status, 200, text)
    return (headers as { warning?: string }).warning
  }
  const ruleOf = (...shares: readonly (readonly [string, number])[]) => ({
    op: 'rule.create',
    segmentKey: 'all',
    distributions: shares.map(([variantId, rollout]) => ({ variantId, rollout })),
  })
  const half = ruleOf([a, 20.55], [b, 30])
  t.equal(await warningOf(changed('?dryRun=true', half)), of('the shares of rule 1 give 50.5 %'))
  t.equal(await warningOf(changed('', ruleOf([a, 70], [b, 30]))), undefined)
  t.equal(await warningOf(changed('', half)), of('the shares of rule 2 give 50.5 %'))
  t.equal(await warningOf(changed('', { op: 'flag.update', description: 'd' })), of('the shares of rule 2 give 50.5 %'))
  const { json } = await request<{ rules: { id: string; distributions: { id: string }[] }[] }>('GET', `${F}/rules`)
  const [{ id: rule, distributions }] = json.rules as [(typeof json.rules)[number]]
  const one = `${F}/rules/${rule}/distributions/${distributions[0]!.id}`
  t.equal(await warningOf(request('PUT', one, { variantId: a, rollout: 69 })), of('the shares give 99 %'))
  t.equal(await warningOf(request('DELETE', `${one}?variantId=${a}`)), of('the shares give 30 %'))
  t.equal(
    await warningOf(changed('', ...Array.from({ length: 10 }, () => half))),
    of('the shares of rules 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more give less than 100 %'),
  )
  const listed = await request<{ flags: { partialRules?: unknown[] }[] }>('GET', `${N}/flags?include=targeting`)
  t.same(listed.json.flags[0]!.partialRules?.slice(0, 2), [
    { rank: 1, given: 30 },
    { rank: 2, given: 50.5 },
  ])
  const { length } = listed.json.flags[0]!.partialRules!
  const rest = Array.from({ length: length - 2 }, (_, n) => n)
  const all = await request<{ rules: { id: string }[] }>('GET', `${F}/rules`)
  const removed = rest.map((n) => ({ op: 'rule.delete', id: all.json.rules[n + 2]!.id }))
  t.equal(await warningOf(changed('', ...removed)), of('the shares of rules 1, 2 give less than 100 %'))
  t.equal(await warningOf(request('DELETE', `${F}/variants/${b}`)), of('the shares of rule 2 give 20.5 %'))
  t.equal(await warningOf(request('DELETE', `${F}/variants/${a}`)), undefined, 'no shares are left')
})

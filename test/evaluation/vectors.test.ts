import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import t from 'tap'
import { booleanBucket, checksum, variantBucket, width } from '../../src/evaluation/bucket.ts'
import { type BooleanFlag, compileFlag, type VariantFlag } from '../../src/evaluation/compile.ts'
import { evaluateBoolean, evaluateVariant } from '../../src/evaluation/evaluate.ts'
import type { FlagInput } from '../../src/evaluation/flag.ts'
import { root } from '../root.ts'

type Vectors = {
  readonly hashes: readonly {
    entityId: string
    flagKey: string
    crcEntityFlag: number
    booleanBucket: number
    crcFlagEntity: number
    variantBucket: number
  }[]
  readonly widths: readonly { rollout: number; width: number }[]
  readonly cumulative: readonly { rollouts: number[]; cumulativeV1: number[] }[]
  readonly variant: readonly {
    entityId: string
    flagKey: string
    rollouts: number[]
    bucket: number
    index: number
    match: boolean
  }[]
  readonly boolean: readonly {
    entityId: string
    flagKey: string
    percentage: number
    value: boolean
    flagEnabled: boolean
    bucket: number
    enabled: boolean
    reason: string
  }[]
}

const file = resolve(root, 'test/evaluation/fixtures/evaluation-vectors.json')
const vectors = JSON.parse(readFileSync(file, 'utf8')) as Vectors

const everybody = () => ({ key: 'everybody', matchType: 'all', constraints: [] }) as const
const bare = { enabled: true, variants: [], rules: [], rollouts: [] } as const

/** A flag with one rule for all entities and these distributions, each with a variant named by its index. */
const shared = (key: string, rollouts: readonly number[]): VariantFlag => {
  const flag: FlagInput = {
    ...bare,
    key,
    type: 'variant',
    variants: rollouts.map((_, n) => ({ id: `id-${n}`, key: `variant-${n}`, attachment: '' })),
    rules: [
      {
        id: 'rule',
        rank: 1,
        segments: ['everybody'],
        operator: 'or',
        distributions: rollouts.map((rollout, n) => ({ id: `distribution-${n}`, variantId: `id-${n}`, rollout })),
      },
    ],
  }
  return compileFlag(flag, everybody) as VariantFlag
}

await t.test('hashes and buckets are those of the published examples', async (t) => {
  for (const { entityId, flagKey, ...wanted } of vectors.hashes) {
    const got = {
      crcEntityFlag: checksum(entityId, flagKey),
      booleanBucket: booleanBucket(entityId, flagKey),
      crcFlagEntity: checksum(flagKey, entityId),
      variantBucket: variantBucket(flagKey, entityId),
    }
    t.same(got, wanted, `${entityId} ${flagKey}`)
  }
  t.ok(vectors.hashes.length > 0)
})

await t.test('widths of distributions are those of the published examples', async (t) => {
  for (const { rollout, width: wanted } of vectors.widths) t.equal(width(rollout), wanted, `${rollout} %`)
  t.ok(vectors.widths.length > 0)
})

await t.test('cumulative sums of distributions are those of the published examples', async (t) => {
  for (const { rollouts, cumulativeV1 } of vectors.cumulative) {
    const shares = shared('f', rollouts).rules[0]!.shares
    t.same(
      shares.map(({ below }) => below),
      cumulativeV1,
      rollouts.join('/'),
    )
  }
  t.ok(vectors.cumulative.length > 0)
})

await t.test('variant flags return the answers of the published examples', async (t) => {
  for (const { entityId, flagKey, rollouts, bucket, index, match } of vectors.variant) {
    const name = `${entityId} ${flagKey} ${rollouts.join('/')}`
    const places = rollouts.flatMap((rollout, n) => (rollout > 0 ? [n] : []))
    const answer = evaluateVariant(shared(flagKey, rollouts), entityId, {})
    t.equal(variantBucket(flagKey, entityId), bucket, name)
    t.match(
      answer,
      { match, variantKey: index < 0 ? '' : `variant-${places[index]}`, segmentKeys: ['everybody'] },
      name,
    )
  }
  t.ok(vectors.variant.length > 0)
})

await t.test('Boolean flags return the answers of the published examples', async (t) => {
  const reasons = { match: 'MATCH_EVALUATION_REASON', default: 'DEFAULT_EVALUATION_REASON' } as Readonly<
    Record<string, string>
  >
  for (const { entityId, flagKey, percentage, value, flagEnabled, bucket, enabled, reason } of vectors.boolean) {
    const rollouts = [{ id: 'rollout', rank: 1, type: 'threshold', percentage, value }] as const
    const flag = compileFlag(
      { ...bare, key: flagKey, type: 'boolean', enabled: flagEnabled, rollouts },
      everybody,
    ) as BooleanFlag
    const answer = evaluateBoolean(flag, entityId, {})
    if ('error' in answer) throw new Error(answer.error)
    const name = `${entityId} ${flagKey} ${percentage}`
    t.equal(booleanBucket(entityId, flagKey), bucket, name)
    t.same({ enabled: answer.enabled, reason: reasons[answer.reason] }, { enabled, reason }, name)
  }
  t.ok(vectors.boolean.length > 0)
})

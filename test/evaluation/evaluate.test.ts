import t from 'tap'
import { type BooleanFlag, compileFlag, type VariantFlag } from '../../src/evaluation/compile.ts'
import { evaluateBoolean, evaluateVariant } from '../../src/evaluation/evaluate.ts'
import type {
  ConstraintInput,
  Context,
  FlagInput,
  RolloutInput,
  RuleInput,
  SegmentInput,
} from '../../src/evaluation/flag.ts'
import type { TraceStep } from '../../src/evaluation/trace.ts'

const is = (property: string, value: string): ConstraintInput => ({
  id: `${property}=${value}`,
  type: 'string',
  property,
  operator: 'eq',
  value,
})
const strange: ConstraintInput = { id: 'strange', type: 'unknown', property: 'p', operator: 'eq', value: 'a' }

const segments: readonly SegmentInput[] = [
  { key: 'everybody', matchType: 'all', constraints: [] },
  { key: 'anybody', matchType: 'any', constraints: [] },
  { key: 'german', matchType: 'all', constraints: [is('country', 'de')] },
  { key: 'paying', matchType: 'any', constraints: [is('plan', 'pro'), is('plan', 'team')] },
  { key: 'german-pro', matchType: 'all', constraints: [is('country', 'de'), is('plan', 'pro')] },
  { key: 'strange', matchType: 'any', constraints: [is('plan', 'pro'), strange] },
]
const known = (key: string) => segments.find((segment) => segment.key === key)
const [german, germanPro, french]: readonly Context[] = [
  { country: 'de' },
  { country: 'de', plan: 'pro' },
  { country: 'fr' },
] as const

const variants = ['red', 'green', 'blue'].map((key) => ({ id: `id-${key}`, key, attachment: `{"color":"${key}"}` }))
const bare = { enabled: true, variants, rules: [], rollouts: [] } as const
const boolean = (key: string, rollouts: readonly RolloutInput[], enabled = false) =>
  compileFlag({ ...bare, key, type: 'boolean', enabled, rollouts }, known) as BooleanFlag
const variant = (key: string, rules: readonly RuleInput[], rest: Partial<FlagInput> = {}) =>
  compileFlag({ ...bare, key, type: 'variant', rules, ...rest }, known) as VariantFlag

const threshold = (rank: number, percentage: number, value = true): RolloutInput => ({
  id: `t${rank}`,
  rank,
  type: 'threshold',
  percentage,
  value,
})
const segmented = (
  rank: number,
  keys: readonly string[],
  operator: 'or' | 'and' = 'or',
  value = true,
): RolloutInput => ({
  id: `s${rank}`,
  rank,
  type: 'segment',
  segments: keys,
  operator,
  value,
})
const rule = (
  rank: number,
  keys: readonly string[],
  rollouts: readonly number[],
  operator: 'or' | 'and' = 'or',
): RuleInput => ({
  id: `r${rank}`,
  rank,
  segments: keys,
  operator,
  distributions: rollouts.map((rollout, n) => ({ id: `d${n}`, variantId: variants[n]!.id, rollout })),
})
const traceOf = (evaluate: (trace: TraceStep[]) => unknown): readonly TraceStep[] => {
  const trace: TraceStep[] = []
  evaluate(trace)
  return trace
}

await t.test('the examples of bucketing in docs/api.md are computed correctly', async (t) => {
  const table: readonly (readonly [string, string, readonly number[], string])[] = [
    ['alice', 'checkout-v2', [10, 20, 70], 'green'],
    ['carol', 'checkout-v2', [10, 20, 70], 'blue'],
    ['alice', 'checkout-v2', [10, 5], ''],
    ['user-11', 'thirds', [33.33, 33.33, 33.34], ''],
    ['ユーザー', 'checkout-v2', [61.6, 38.4], 'red'],
  ]
  for (const [entity, flag, rollouts, wanted] of table) {
    t.match(evaluateVariant(variant(flag, [rule(1, ['everybody'], rollouts)]), entity, {}), {
      match: wanted !== '',
      variantKey: wanted,
    })
  }
  t.match(evaluateBoolean(boolean('checkout-v2', [threshold(1, 12)]), 'alice', {}), {
    enabled: false,
    reason: 'default',
  })
  t.match(evaluateBoolean(boolean('checkout-v2', [threshold(1, 13)]), 'alice', {}), { enabled: true, reason: 'match' })
})

await t.test('a percentage p matches ceil(p) of the 100 buckets', async (t) => {
  for (const percentage of [0, 0.01, 1, 12.5, 50, 99, 99.5, 100]) {
    const buckets = new Set<number>()
    const flag = boolean('f', [threshold(1, percentage)])
    for (let n = 0; n < 3000; n++) {
      const [step] = traceOf((trace) => evaluateBoolean(flag, `user-${n}`, {}, trace))
      if (step!.matched) buckets.add(step!.bucket!)
    }
    t.equal(buckets.size, Math.ceil(percentage), `${percentage} %`)
  }
})

await t.test('rollouts are evaluated by rank, also those of a disabled flag', async (t) => {
  const flag = boolean('f', [threshold(3, 100, false), segmented(1, ['german'])])
  t.same(evaluateBoolean(flag, 'a', german), {
    enabled: true,
    reason: 'match',
    segmentKeys: ['german'],
    usedEntity: false,
  })
  t.same(evaluateBoolean(flag, 'a', french), { enabled: false, reason: 'match', segmentKeys: [], usedEntity: true })
  t.same(evaluateBoolean(boolean('f', [], true), 'a', {}), {
    enabled: true,
    reason: 'default',
    segmentKeys: [],
    usedEntity: false,
  })
})

await t.test('usedEntity is true only if a threshold was evaluated', async (t) => {
  const passed = boolean('f', [threshold(1, 0), segmented(2, ['german'])])
  t.match(evaluateBoolean(passed, '', german), { enabled: true, usedEntity: true })
  const before = boolean('f', [segmented(1, ['german']), threshold(2, 100)])
  t.match(evaluateBoolean(before, '', german), { enabled: true, usedEntity: false })
})

await t.test('OR returns every matching segment in the order of the rule, and AND needs all of them', async (t) => {
  const keys = ['paying', 'missing', 'german', 'everybody']
  t.match(evaluateBoolean(boolean('f', [segmented(1, keys)]), 'a', germanPro), {
    segmentKeys: ['paying', 'german', 'everybody'],
  })
  t.match(evaluateBoolean(boolean('f', [segmented(1, keys, 'and')]), 'a', germanPro), {
    reason: 'default',
    segmentKeys: [],
  })
  const there = ['paying', 'german']
  t.match(evaluateBoolean(boolean('f', [segmented(1, there, 'and')]), 'a', germanPro), {
    reason: 'match',
    segmentKeys: there,
  })
  t.match(evaluateBoolean(boolean('f', [segmented(1, there, 'and')]), 'a', german), { reason: 'default' })
})

await t.test('a segment without constraints matches, and a missing segment does not', async (t) => {
  for (const key of ['everybody', 'anybody'])
    t.match(evaluateBoolean(boolean('f', [segmented(1, [key])]), '', {}), { enabled: true })
  for (const operator of ['or', 'and'] as const) {
    t.match(evaluateBoolean(boolean('f', [segmented(1, ['missing'], operator)]), '', {}), {
      enabled: false,
      reason: 'default',
    })
  }
})

await t.test('a constraint of unknown type makes only those evaluations fail that use it', async (t) => {
  const failure = { error: 'unknown constraint type' }
  const reached = boolean('f', [segmented(1, ['german']), segmented(2, ['german', 'strange'])])
  t.match(evaluateBoolean(reached, 'a', german), { enabled: true })
  t.same(evaluateBoolean(reached, 'a', french), failure)
  t.same(evaluateVariant(variant('f', [rule(1, ['strange'], [100])]), 'a', germanPro), failure)
  t.match(evaluateVariant(variant('f', [rule(1, ['german'], [100]), rule(2, ['strange'], [100])]), 'a', german), {
    match: true,
  })
})

await t.test('a variant flag returns its default variant if no rule matches', async (t) => {
  const nothing = { match: false, segmentKeys: [], variantKey: '', variantAttachment: '' }
  const red = { match: false, segmentKeys: [], variantKey: 'red', variantAttachment: '{"color":"red"}' }
  const byDefault = { defaultVariantId: 'id-red' }
  const rules = [rule(1, ['german'], [0, 100])]
  t.same(evaluateVariant(variant('f', rules), 'a', french), { ...nothing, reason: 'unknown' })
  t.same(evaluateVariant(variant('f', rules, byDefault), 'a', french), { ...red, reason: 'default' })
  t.same(evaluateVariant(variant('f', rules, { enabled: false }), 'a', german), { ...nothing, reason: 'disabled' })
  t.same(evaluateVariant(variant('f', rules, { ...byDefault, enabled: false }), 'a', german), {
    ...red,
    reason: 'disabled',
  })
  t.same(evaluateVariant(variant('f', rules, { defaultVariantId: 'gone' }), 'a', french), {
    ...nothing,
    reason: 'unknown',
  })
})

await t.test('the first matching rule decides, even if it has no variant', async (t) => {
  const byDefault = { defaultVariantId: 'id-blue' }
  const second = rule(2, ['everybody'], [100])
  const blue = { variantKey: 'blue', variantAttachment: '{"color":"blue"}', segmentKeys: ['german'] }
  t.same(evaluateVariant(variant('f', [second, rule(1, ['german'], [])], byDefault), 'a', german), {
    match: true,
    reason: 'match',
    ...blue,
  })
  t.same(evaluateVariant(variant('f', [second, rule(1, ['german'], [0, 0])], byDefault), 'a', german), {
    match: true,
    reason: 'match',
    ...blue,
  })
  t.same(evaluateVariant(variant('f', [second, rule(1, ['german'], [0.01])], byDefault), 'a', german), {
    match: false,
    reason: 'default',
    ...blue,
  })
  const red = {
    match: true,
    reason: 'match',
    variantKey: 'red',
    variantAttachment: '{"color":"red"}',
    segmentKeys: ['everybody'],
  }
  t.same(evaluateVariant(variant('f', [second, rule(1, ['german'], [])], byDefault), 'a', french), red)
})

await t.test('properties of a context may have names such as __proto__', async (t) => {
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
    const own: SegmentInput = { key: 's', matchType: 'all', constraints: [is(name, 'a')] }
    const flag = compileFlag(
      { ...bare, key: 'f', type: 'boolean', rollouts: [segmented(1, ['s'])], enabled: false },
      () => own,
    )
    const parsed = JSON.parse(`{"${name}":"a"}`) as Context
    t.match(evaluateBoolean(flag as BooleanFlag, '', parsed), { enabled: true }, name)
    t.match(evaluateBoolean(flag as BooleanFlag, '', {}), { enabled: false }, `no ${name}`)
    const empty: SegmentInput = { key: 's', matchType: 'all', constraints: [{ ...is(name, ''), operator: 'empty' }] }
    const unset = compileFlag(
      { ...bare, key: 'f', type: 'boolean', rollouts: [segmented(1, ['s'])], enabled: false },
      () => empty,
    )
    t.match(evaluateBoolean(unset as BooleanFlag, '', {}), { enabled: true }, `${name} is empty`)
  }
})

await t.test('a trace contains every step up to the one that decides', async (t) => {
  const flag = boolean('checkout-v2', [
    threshold(1, 12),
    segmented(2, ['german-pro', 'paying']),
    threshold(5, 33.33, false),
    threshold(6, 100),
  ])
  const failed = (segmentKey: string, constraint: ConstraintInput) => ({ segmentKey, constraint })
  const share = { kind: 'rollout', segmentKeys: [], failed: [], type: 'threshold', bucket: 12 }
  t.same(
    traceOf((trace) => evaluateBoolean(flag, 'alice', german, trace)),
    [
      { ...share, id: 't1', rank: 1, matched: false, value: true, threshold: 12 },
      {
        kind: 'rollout',
        id: 's2',
        rank: 2,
        matched: false,
        segmentKeys: [],
        failed: [
          failed('german-pro', is('plan', 'pro')),
          failed('paying', is('plan', 'pro')),
          failed('paying', is('plan', 'team')),
        ],
        askedSegmentKeys: ['german-pro', 'paying'],
        segmentOperator: 'or',
        type: 'segment',
        value: true,
      },
      { ...share, id: 't5', rank: 5, matched: true, value: false, threshold: 33.33 },
    ],
  )
  const unpaid = [failed('paying', is('plan', 'pro')), failed('paying', is('plan', 'team'))]
  const given = (...rollouts: readonly number[]) =>
    rollouts.map((rollout, n) => ({ variantKey: variants[n]!.key, rollout }))
  const rules = [rule(1, ['german', 'paying'], [100], 'and'), rule(4, ['paying', 'german'], [10, 20, 70])]
  t.same(
    traceOf((trace) => evaluateVariant(variant('checkout-v2', rules), 'alice', german, trace)),
    [
      {
        kind: 'rule',
        id: 'r1',
        rank: 1,
        matched: false,
        segmentKeys: ['german'],
        failed: unpaid,
        askedSegmentKeys: ['german', 'paying'],
        segmentOperator: 'and',
        distributions: given(100),
      },
      {
        kind: 'rule',
        id: 'r4',
        rank: 4,
        matched: true,
        segmentKeys: ['german'],
        failed: unpaid,
        askedSegmentKeys: ['paying', 'german'],
        segmentOperator: 'or',
        distributions: given(10, 20, 70),
        bucket: 167,
        cumulative: [100, 300, 1000],
        variantKey: 'green',
      },
    ],
  )
  t.same(
    traceOf((trace) => evaluateVariant(variant('checkout-v2', [rule(1, ['german'], [10, 5])]), 'alice', german, trace)),
    [
      {
        kind: 'rule',
        id: 'r1',
        rank: 1,
        matched: true,
        segmentKeys: ['german'],
        failed: [],
        askedSegmentKeys: ['german'],
        segmentOperator: 'or',
        distributions: given(10, 5),
        bucket: 167,
        cumulative: [100, 150],
      },
    ],
  )
  t.same(
    traceOf((trace) => evaluateVariant(variant('f', rules, { enabled: false }), 'alice', german, trace)),
    [],
  )
})

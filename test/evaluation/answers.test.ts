import * as fc from 'fast-check'
import t from 'tap'
import {
  type AnswersFrom,
  answersInWords,
  booleanAnswers,
  type Gives,
  givenBy,
  partialShare,
  reachOf,
  shareInWords,
  stillTrue,
} from '../../src/contract/answers.ts'
import { booleanBucket, width } from '../../src/evaluation/bucket.ts'
import { compileFlag } from '../../src/evaluation/compile.ts'
import { evaluateBoolean, evaluateVariant } from '../../src/evaluation/evaluate.ts'
import type { FlagInput, RolloutInput, SegmentInput } from '../../src/evaluation/flag.ts'
import { rolloutJson, ruleJson } from '../../src/http/present/flag.ts'

const KEY = 'checkout-v2'
/** One entity per bucket. */
const entities: readonly string[] = (() => {
  const found = new Map<number, string>()
  for (let n = 0; found.size < 100; n++) found.set(booleanBucket(`user-${n}`, KEY), `user-${n}`)
  return [...found.values()]
})()

const NAMES = ['a', 'b', 'all'] as const
/** An entity is in the segments `a` and `b` according to its context, and always in `all`. */
const segmentOf = (key: string): SegmentInput => ({
  key,
  matchType: 'all',
  constraints: key === 'all' ? [] : [{ id: key, type: 'string', property: key, operator: 'eq', value: 'in' }],
})
const contexts = [{}, { a: 'in' }, { b: 'in' }, { a: 'in', b: 'in' }]

const percentage = fc.oneof(
  fc.constantFrom(0, 100, 100, 99, 99.00000001, 99.5, 0.001, 1, 50),
  fc.integer({ min: 0, max: 100 }),
  fc.float({ min: 0, max: 100, noNaN: true }),
)
const gives = fc.oneof(
  fc.record({ type: fc.constant('threshold' as const), percentage, value: fc.boolean() }),
  fc.record({
    type: fc.constant('segment' as const),
    segments: fc.subarray([...NAMES], { minLength: 1 }),
    operator: fc.constantFrom('or' as const, 'and' as const),
    value: fc.boolean(),
  }),
)
const flags = fc
  .record({ enabled: fc.boolean(), given: fc.array(gives, { maxLength: 5 }) })
  .map(({ enabled, given }) => ({
    enabled,
    rollouts: given.map((one, n): RolloutInput => ({ ...one, id: `${n + 1}`, rank: n + 1 })),
  }))

const known = (rollout: RolloutInput): Gives => {
  const { value } = rollout
  return rollout.type === 'threshold'
    ? { threshold: { percentage: rollout.percentage, value } }
    : { segment: { value } }
}
const variants = [{ id: 'v', key: 'v', attachment: '' }]
const input = (flag: Partial<FlagInput>): FlagInput => ({
  key: KEY,
  type: 'boolean',
  enabled: false,
  variants: [],
  rules: [],
  rollouts: [],
  ...flag,
})

/** Answer for every entity in each context, and the number of the deciding rollout; 0 for none. */
const askedBy = (flag: Pick<FlagInput, 'enabled' | 'rollouts'>) => {
  const compiled = compileFlag(input(flag), segmentOf)
  if (compiled.type !== 'boolean') throw new Error('no Boolean flag')
  return contexts.map((context) =>
    entities.map((entity) => {
      const trace: { readonly id: string; readonly matched: boolean }[] = []
      const answer = evaluateBoolean(compiled, entity, context, trace as never)
      if ('error' in answer) throw new Error(answer.error)
      const last = trace.at(-1)
      return { value: answer.enabled, by: last?.matched ? Number(last.id) : 0, asked: trace.length }
    }),
  )
}

await t.test('the summary of the answers of a Boolean flag is correct for every entity', (t) => {
  const said = new Map<string, number>()
  fc.assert(
    fc.property(flags, ({ enabled, rollouts }) => {
      const { everybody, share, otherwise, segments, asked, trueBy } = booleanAnswers(enabled, rollouts.map(known))
      const all = askedBy({ enabled, rollouts })
      const flat = all.flat()
      const must = (holds: boolean, what: string) => {
        if (!holds) throw new Error(what)
      }
      if (everybody !== undefined)
        must(
          flat.every(({ value }) => value === everybody),
          `not ${everybody} for everybody`,
        )
      if (!segments)
        for (const one of all)
          must(one.filter(({ value }) => value !== otherwise).length === share, `not ${share} % in a context`)
      must(
        flat.every((one) => one.by <= asked && one.asked <= asked),
        'a rollout that is not asked was asked',
      )
      must(
        flat.every(({ value, by }) => by === 0 || !value || trueBy.includes(by)),
        'another rollout answers true',
      )
      // If no segment matches all entities, the summary for entities outside all segments is observable.
      if (rollouts.every((one) => one.type === 'threshold' || one.segments.some((key) => key !== 'all'))) {
        const outside = rollouts.some(
          (one) => one.type === 'segment' && one.operator === 'or' && one.segments.includes('all'),
        )
        if (!outside)
          must(all[0]!.filter(({ value }) => value !== otherwise).length === share, `not ${share} % outside`)
      }
      const words = answersInWords({ type: 'BOOLEAN_FLAG_TYPE', enabled, rollouts: rollouts.map(known) })
      const kind = words.replace(/\d+/, 'n')
      said.set(kind, (said.get(kind) ?? 0) + 1)
    }),
    { numRuns: 2000 },
  )
  for (const value of ['true', 'false']) {
    const begun = value === 'true' ? 'True' : 'False'
    for (const kind of [`${begun} for everybody`, `Depends on segments, else ${value}`])
      t.ok((said.get(kind) ?? 0) > 20, `${kind}: ${said.get(kind)}`)
    t.ok((said.get(`${begun} for n %, else ${value !== 'true'}`) ?? 0) > 20)
  }
  t.ok((said.get('Depends on segments') ?? 0) > 20)
  t.equal(said.size, 7)
  t.end()
})

await t.test("a flag's summary has no common answer only if entities get different answers", (t) => {
  fc.assert(
    fc.property(flags, ({ enabled, rollouts }) => {
      // Each rollout has its own segment, so that an entity can be in any combination of them.
      const own = rollouts.map(
        (one, n): RolloutInput => (one.type === 'segment' ? { ...one, segments: [n === 0 ? 'a' : 'b'] } : one),
      )
      if (own.filter(({ type }) => type === 'segment').length > 1) return
      const { everybody, segments } = booleanAnswers(enabled, own.map(known))
      const all = askedBy({ enabled, rollouts: own })
      const values = new Set(all.flat().map(({ value }) => value))
      if ((values.size === 1) !== (everybody !== undefined))
        throw new Error(`${[...values].join()} is not ${everybody}`)
      const answers = new Set(all.map((one) => one.map(({ value }) => value).join()))
      if (answers.size > 1 !== segments) throw new Error(`it depends on segments: ${answers.size > 1}`)
    }),
    { numRuns: 1000 },
  )
  t.end()
})

const boolean = (enabled: boolean, ...rollouts: readonly Gives[]): AnswersFrom => ({
  type: 'BOOLEAN_FLAG_TYPE',
  enabled,
  rollouts,
})
const share = (percentage: number, value: boolean): Gives => ({ threshold: { percentage, value } })
const segment = (value: boolean): Gives => ({ segment: { value } })

await t.test('the possible answers of Boolean flags are described', (t) => {
  const said = (flag: AnswersFrom) => [answersInWords(flag), stillTrue(flag)]
  t.strictSame(said(boolean(false)), ['False for everybody', ''])
  t.strictSame(said(boolean(true)), ['True for everybody', ''])
  t.strictSame(said(boolean(false, share(100, true))), ['True for everybody', 'rollout 1 answers true'])
  t.strictSame(said(boolean(true, share(0, false))), ['True for everybody', ''])
  t.strictSame(said(boolean(false, share(30, true))), ['True for 30 %, else false', 'rollout 1 answers true'])
  t.strictSame(said(boolean(true, share(29.5, false))), ['False for 30 %, else true', ''])
  t.strictSame(said(boolean(false, share(99.5, true))), ['True for everybody', 'rollout 1 answers true'])
  t.strictSame(said(boolean(false, share(30, true), share(100, false))), [
    'True for 30 %, else false',
    'rollout 1 answers true',
  ])
  t.strictSame(said(boolean(false, segment(true))), ['Depends on segments, else false', 'rollout 1 answers true'])
  t.strictSame(said(boolean(false, segment(true), share(25, true))), [
    'Depends on segments',
    'rollouts 1 and 2 answer true',
  ])
  t.strictSame(said(boolean(false, segment(false))), ['False for everybody', ''])
  t.strictSame(said(boolean(false, share(1, true), segment(true), share(9, true), share(100, false), share(5, true))), [
    'Depends on segments',
    'rollouts 1, 2 and 3 answer true',
  ])
  t.equal(booleanAnswers(false, [share(100, true), segment(false), share(50, true)]).asked, 1)
  t.end()
})

await t.test('the possible answers of variant flags are described', (t) => {
  const rules = [
    {
      id: 'r',
      rank: 1,
      segments: ['a'],
      operator: 'or' as const,
      distributions: [{ id: 'd', variantId: 'v', rollout: 100 }],
    },
  ]
  const cases: readonly (readonly [words: string, enabled: boolean, byDefault: boolean, ruled: boolean])[] = [
    ['Off: no match, default v for everybody', false, true, true],
    ['Off: no match, no variant for everybody', false, false, true],
    ['On: no match, default v for everybody', true, true, false],
    ['On: no match, no variant for everybody', true, false, false],
    ['On: depends on segments, else default v', true, true, true],
    ['On: depends on segments, else no variant', true, false, true],
  ]
  for (const [words, enabled, byDefault, ruled] of cases) {
    t.equal(
      answersInWords({
        type: 'VARIANT_FLAG_TYPE',
        enabled,
        ruleCount: ruled ? 1 : 0,
        ...(byDefault ? { defaultVariant: { key: 'v' } } : {}),
      }),
      words,
    )
    const compiled = compileFlag(
      input({
        type: 'variant',
        enabled,
        variants,
        rules: ruled ? rules : [],
        defaultVariantId: byDefault ? 'v' : undefined,
      }),
      segmentOf,
    )
    if (compiled.type !== 'variant') throw new Error('no variant flag')
    for (const context of contexts) {
      const answer = evaluateVariant(compiled, 'e', context)
      if ('error' in answer) throw new Error(answer.error)
      const inside = words.includes('depends') && 'a' in context
      t.strictSame([answer.match, answer.variantKey], [inside, inside || byDefault ? 'v' : ''], words)
      if (words.startsWith('Off')) t.equal(answer.reason, 'disabled')
    }
  }
  t.end()
})

await t.test('the shares that are shown are those that the evaluation gives', (t) => {
  for (let hundredths = 0; hundredths <= 10_000; hundredths++) {
    const percent = hundredths / 100
    if (givenBy(percent) !== width(percent) / 10) t.fail(`a weight of ${percent}`)
    if (hundredths % 10 === 0 && givenBy(percent) !== percent) t.fail(`${percent} is a step of the evaluation`)
    const words = percent === reachOf(percent) ? `${percent} %` : `${percent} % (counts as ${reachOf(percent)} %)`
    if (shareInWords(String(percent)) !== words) t.fail(words)
  }
  t.equal(shareInWords('0.1'), '0.1 % (counts as 1 %)')
  t.equal(shareInWords('99.01'), '99.01 % (counts as 100 %)')
  t.equal(shareInWords('abc'), 'abc %')
  t.end()
})

await t.test('an answer states the share of the whole bucket space, for any percentage and any shares', (t) => {
  const doc = { namespace: 'n', key: 'f' }
  const part = { id: 'p', rank: 1, createdAt: '', updatedAt: '' }
  const float = percentage.map((given) => Math.fround(given))
  fc.assert(
    fc.property(float, (given) => {
      const { threshold } = rolloutJson(doc, {
        ...part,
        description: '',
        type: 'threshold',
        percentage: given,
        value: true,
      })
      const below = Array.from({ length: 100 }, (_, bucket) => bucket).filter((bucket) => bucket < given).length
      return (threshold?.countsAs ?? threshold?.percentage) === below && Math.fround(threshold!.percentage) === given
    }),
  )
  const variants = Array.from({ length: 4 }, (_, n) => ({ id: `v${n}`, key: `v${n}`, attachment: '' }))
  const weights = fc
    .array(float, { maxLength: 4 })
    .filter((given) => given.reduce((sum, each) => sum + each, 0) <= 100.001)
  fc.assert(
    fc.property(weights, (given) => {
      const shares = given.map((rollout, n) => ({ ...part, id: `d${n}`, variantId: `v${n}`, rollout }))
      const rule = { ...part, segments: ['all'], operator: 'or' as const, distributions: shares }
      const compiled = compileFlag(input({ type: 'variant', enabled: true, variants, rules: [rule] }), segmentOf)
      if (compiled.type !== 'variant') return false
      const chosen = Array.from(
        { length: 1000 },
        (_, bucket) => compiled.rules[0]!.shares.find(({ below }) => bucket < below)?.variant.key,
      )
      const shown = ruleJson(doc, rule).distributions.map(({ variantId, rollout, countsAs = rollout }) => [
        variantId,
        countsAs,
      ])
      const reached = given.map((_, n) => [`v${n}`, chosen.filter((key) => key === `v${n}`).length / 10])
      const all = chosen.filter((key) => key !== undefined).length / 10
      t.same(shown, reached)
      return partialShare(shares) === (all > 0 && all < 100 ? all : undefined)
    }),
  )
  t.end()
})

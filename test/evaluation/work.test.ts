import t from 'tap'
import { type BooleanFlag, compileFlag, type VariantFlag } from '../../src/evaluation/compile.ts'
import { evaluateBoolean, evaluateVariant } from '../../src/evaluation/evaluate.ts'
import type { ConstraintInput, ConstraintType, Context, SegmentInput } from '../../src/evaluation/flag.ts'
import { type Condition, type Work, workOnOne, workTogether } from '../../src/evaluation/segment.ts'
import type { Trace } from '../../src/evaluation/trace.ts'
import { looksOf } from './looks.ts'

const LONGEST = 65_536
/** Maximum number of characters that an evaluation reads. */
const MOST_WORK = 2_097_152
/** The same for all evaluations of one request. */
const MOST_TOGETHER = 16 * MOST_WORK
const spent = { error: 'evaluation takes too much work' }
const bare = { enabled: true, variants: [], rules: [], rollouts: [] } as const

type Case = {
  readonly type?: ConstraintType
  readonly operator: string
  readonly value: (n: number) => string
  readonly text: string
}

const segmentOf = (
  count: number,
  matchType: 'all' | 'any',
  { type = 'string', operator, value }: Case,
): SegmentInput => ({
  key: 's',
  matchType,
  constraints: Array.from(
    { length: count },
    (_, n): ConstraintInput => ({ id: `c${n}`, type, property: 'p', operator, value: value(n) }),
  ),
})
const booleanOf = (segment: SegmentInput, rollouts = 1): BooleanFlag =>
  compileFlag(
    {
      ...bare,
      key: 'f',
      type: 'boolean',
      rollouts: Array.from({ length: rollouts }, (_, n) => ({
        id: `r${n}`,
        rank: n + 1,
        type: 'segment',
        segments: ['s'],
        operator: 'or',
        value: true,
      })),
    },
    () => segment,
  ) as BooleanFlag
const variantOf = (segment: SegmentInput): VariantFlag =>
  compileFlag(
    {
      ...bare,
      key: 'f',
      type: 'variant',
      rules: [{ id: 'r', rank: 1, segments: ['s'], operator: 'or', distributions: [] }],
    },
    () => segment,
  ) as VariantFlag

const flat = (text: string): string => JSON.parse(JSON.stringify(text)) as string
const letters = (n: number) => flat(`${'a'.repeat(36)}${String(n).padStart(4, 'b')}`)

/** Texts that make the search slow, and some that are only long. */
const worst: Readonly<Record<string, Case>> = {
  'forty letters': { operator: 'notcontains', value: letters, text: 'a'.repeat(LONGEST) },
  'seven letters': { operator: 'notcontains', value: () => flat('aaaaaab'), text: 'a'.repeat(LONGEST) },
  'letters of two bytes': {
    operator: 'notcontains',
    value: () => flat('éééééééééééééééééééü'),
    text: 'é'.repeat(LONGEST / 2),
  },
  'a long part': {
    operator: 'notcontains',
    value: (n) => flat(`${'a'.repeat(5_000)}b${n}`),
    text: 'a'.repeat(LONGEST),
  },
  spaces: { operator: 'prefix', value: () => 'x', text: ' '.repeat(LONGEST) },
  digits: { type: 'number', operator: 'eq', value: () => '1', text: '1'.repeat(LONGEST) },
  'a fraction': {
    type: 'datetime',
    operator: 'eq',
    value: () => '2024-05-01',
    text: `2024-05-01T00:00:00.${'1'.repeat(LONGEST - 21)}Z`,
  },
  'short numbers': { type: 'number', operator: 'gt', value: () => '1e9', text: '1.5' },
  'short hexadecimals': { type: 'number', operator: 'gt', value: () => '1e9', text: '0x1p4' },
  dates: { type: 'datetime', operator: 'eq', value: () => '2024-05-01', text: '2024-05-02T00:00:00Z' },
  'short texts': { operator: 'contains', value: () => 'xy', text: 'b' },
  'a list': {
    operator: 'isnotoneof',
    value: (n) => JSON.stringify([`${'a'.repeat(1_000)}${n}`]),
    text: 'a'.repeat(LONGEST),
  },
}

/** The flag, and a counter of the work of its constraints: 32 for each test, and the length of the value. */
const watched = <F extends BooleanFlag | VariantFlag>(flag: F) => {
  let work = 0
  type Segment = Condition['segments'][number]
  const copies = new Map<Segment, Segment>()
  const watchedSegment = (segment: Segment): Segment => ({
    ...segment,
    constraints: segment.constraints.map((constraint) => ({
      ...constraint,
      holds: (...given: Parameters<typeof constraint.holds>) => {
        work += 32 + given[0].length
        return constraint.holds(...given)
      },
    })),
  })
  // The rollouts of a flag share a segment object, so its compiled form is shared too.
  const copyOf = (segment: Segment): Segment => {
    const copy = copies.get(segment) ?? watchedSegment(segment)
    copies.set(segment, copy)
    return copy
  }
  const seen = (condition: Condition): Condition => ({ ...condition, segments: condition.segments.map(copyOf) })
  const watchedFlag =
    flag.type === 'boolean'
      ? {
          ...flag,
          rollouts: flag.rollouts.map((each) =>
            each.type === 'segment' ? { ...each, condition: seen(each.condition) } : each,
          ),
        }
      : { ...flag, rules: flag.rules.map((rule) => ({ ...rule, condition: seen(rule.condition) })) }
  return { flag: watchedFlag as F, work: () => work }
}

await t.test('an evaluation that exceeds the work limit is refused', async (t) => {
  for (const [name, one] of Object.entries(worst)) {
    for (const matchType of ['all', 'any'] as const) {
      const segment = segmentOf(
        one.text.length < 100 ? 10_000 : 1_000,
        matchType,
        matchType === 'all' ? one : { ...one, operator: one.operator.replace('not', '') },
      )
      const context: Context = { p: flat(one.text) }
      const boolean = watched(booleanOf(segment, 100))
      const answer = evaluateBoolean(boolean.flag, 'e', context)
      const isRefused = 'error' in answer
      t.comment(`${name}, ${matchType}: ${boolean.work()} characters, ${isRefused ? 'refused' : 'answered'}`)
      t.ok(boolean.work() <= MOST_WORK, `${name}: ${boolean.work()} characters`)
      if (isRefused) t.ok(boolean.work() > MOST_WORK - 32 - one.text.length, 'and not before')
      if (one.text.length === LONGEST && (matchType === 'any' || one.operator === 'notcontains')) {
        t.same(answer, spent, name)
        const variant = watched(variantOf(segment))
        t.same(evaluateVariant(variant.flag, 'e', context), spent, name)
        t.ok(variant.work() <= MOST_WORK)
      }
    }
  }
})

await t.test('an evaluation may use the whole work limit, and not one character more', async (t) => {
  const constraints = (lengths: readonly number[]) => ({
    segment: {
      key: 's',
      matchType: 'all',
      constraints: lengths.map((length, n) => ({
        id: `c${n}`,
        type: 'string',
        property: `p${length}`,
        operator: 'notempty',
        value: '',
      })),
    } satisfies SegmentInput,
    context: Object.fromEntries(lengths.map((length) => [`p${length}`, 'x'.repeat(length)])),
  })
  // 32 constraints with 65,504 characters each use up the whole limit, including the cost of each constraint.
  const all = Array.from({ length: 32 }, () => 65_504)
  const just = constraints(all)
  t.match(evaluateBoolean(booleanOf(just.segment), 'e', just.context), { reason: 'match' })
  const more = constraints(all.with(0, 65_505))
  t.same(evaluateBoolean(booleanOf(more.segment), 'e', more.context), spent)
})

await t.test('constraints count as work, also in an explanation', async (t) => {
  const empty = segmentOf(10_000, 'any', { operator: 'eq', value: () => 'x', text: '' })
  t.match(evaluateBoolean(booleanOf(empty, 6), 'e', {}), { reason: 'default' })
  t.same(evaluateBoolean(booleanOf(empty, 8), 'e', {}), spent)
  const trace: Trace = []
  t.same(evaluateBoolean(booleanOf(empty, 6), 'e', {}, trace), spent)
  const matched = segmentOf(10_000, 'any', { operator: 'notempty', value: () => '', text: '' })
  t.match(
    evaluateBoolean(booleanOf(matched), 'e', { p: 'x'.repeat(200) }),
    { reason: 'match' },
    'only what is tried counts',
  )
})

await t.test('realistic flags stay far below the work limit', async (t) => {
  const segment = segmentOf(1_000, 'all', { operator: 'notcontains', value: letters, text: '' })
  t.match(evaluateBoolean(booleanOf(segment, 1), 'e', { p: 'x'.repeat(1_500) }), { reason: 'match', enabled: true })
  t.match(evaluateBoolean(booleanOf(segmentOf(20, 'all', worst['forty letters']!)), 'e', { p: 'a'.repeat(LONGEST) }), {
    reason: 'match',
  })
})

const kinds = {
  boolean: { flagOf: booleanOf, ask: evaluateBoolean },
  variant: { flagOf: variantOf, ask: evaluateVariant },
} as const
/**
 * Each work limit and each type of flag is tested with all texts. The other pairs are tested with a long value and
 * short ones.
 */
const ways: readonly (readonly [string, () => Work, keyof typeof kinds, readonly string[]])[] = [
  ['with different contexts', workTogether, 'boolean', Object.keys(worst)],
  ['about one entity', workOnOne, 'variant', Object.keys(worst)],
  ['with different contexts', workTogether, 'variant', ['spaces', 'short texts']],
  ['about one entity', workOnOne, 'boolean', ['spaces', 'short texts']],
]

for (const [whose, makeWork, kind, texts] of ways)
  await t.test(`the work of all evaluations in one request is limited: ${whose}, ${kind} flags`, async (t) => {
    for (const why of texts) {
      const one = worst[why]!
      const segment = segmentOf(one.text.length < 100 ? 10_000 : 20, 'any', {
        ...one,
        operator: one.operator.replace('not', ''),
      })
      const context: Context = { p: flat(one.text) }
      const { flag, work: done } = watched(kinds[kind].flagOf(segment) as BooleanFlag)
      const ask = kinds[kind].ask as typeof evaluateBoolean
      const work = makeWork()
      const asked = () => ask(flag, 'e', context, undefined, work)
      let answered = 0
      while (answered < 1_000 && !('error' in asked())) answered++
      t.ok(answered >= 16 && answered < 1_000, `${why}: ${answered} are answered`)
      t.ok(done() <= MOST_TOGETHER, `${why}: ${done()} characters`)
      t.ok(done() > MOST_TOGETHER - MOST_WORK, 'and not before')
      const before = done()
      for (let n = 0; n < 1_000; n++) asked()
      t.ok(done() - before <= MOST_WORK, 'what is left is looked at once')
      const plain = compileFlag({ ...bare, key: 'plain', type: 'boolean' }, () => segment) as BooleanFlag
      t.match(
        evaluateBoolean(plain, 'e', context, undefined, work),
        { reason: 'default' },
        'a flag that looks at nothing is answered',
      )
    }
  })

await t.test('the length of the entity id counts as work for each bucket', async (t) => {
  const threshold = compileFlag(
    {
      ...bare,
      key: 'f',
      type: 'boolean',
      rollouts: [1, 2].map((rank) => ({ id: `t${rank}`, rank, type: 'threshold', percentage: 0, value: true })),
    },
    () => undefined,
  ) as BooleanFlag
  const everybody = segmentOf(0, 'all', worst['spaces']!)
  const variant = compileFlag(
    {
      ...bare,
      key: 'f',
      type: 'variant',
      variants: [{ id: 'v', key: 'v', attachment: '' }],
      rules: [
        {
          id: 'r',
          rank: 1,
          segments: ['s'],
          operator: 'or',
          distributions: [{ id: 'd', variantId: 'v', rollout: 100 }],
        },
      ],
    },
    () => everybody,
  ) as VariantFlag
  const entity = flat('x'.repeat(LONGEST))
  for (const ask of [
    (work: Work) => evaluateBoolean(threshold, entity, {}, undefined, work),
    (work: Work) => evaluateVariant(variant, entity, {}, undefined, work),
  ]) {
    const work = workTogether()
    let answered = 0
    const looks = looksOf(() => {
      for (let n = 0; n < 2_000; n++) if (!('error' in ask(work))) answered++
    })
    t.ok(answered >= MOST_TOGETHER / LONGEST - 1 && answered <= MOST_TOGETHER / LONGEST, `${answered} are answered`)
    t.ok(looks <= MOST_TOGETHER + answered, `${looks} characters`)
  }
})

await t.test('a property with a long value is parsed once for all constraints', async (t) => {
  const operators: readonly (readonly [ConstraintType, string, string])[] = [
    ['string', 'prefix', 'x'],
    ['string', 'suffix', 'x'],
    ['string', 'notempty', ''],
    ['string', 'empty', ''],
    ['number', 'eq', '1'],
    ['number', 'isoneof', '[1]'],
    ['number', 'present', ''],
    ['datetime', 'lt', '2024-05-01'],
  ]
  const texts = { spaces: ' '.repeat(LONGEST - 1), digits: '1'.repeat(LONGEST), date: worst['a fraction']!.text }
  const reads = (text: string, times: number): number => {
    const constraints = operators.flatMap(([type, operator, value], n) =>
      Array.from({ length: times }, (_, m) => ({ id: `${n}-${m}`, type, property: 'p', operator, value })),
    )
    const each = constraints.map((constraint) => booleanOf({ key: 's', matchType: 'all', constraints: [constraint] }))
    const work = workOnOne()
    const p = flat(text)
    return looksOf(() => {
      for (const flag of each) evaluateBoolean(flag, 'e', { p }, undefined, work)
    })
  }
  for (const [name, text] of Object.entries(texts)) {
    const [once, often] = [reads(text, 1), reads(text, 3)]
    t.ok(once > 0 && often <= once, `${name}: ${often} characters of three of each, ${once} of one`)
  }
  const all: SegmentInput = {
    key: 's',
    matchType: 'all',
    constraints: Array.from({ length: 30 }, (_, n) => ({
      id: `c${n}`,
      type: 'string',
      property: 'p',
      operator: 'notempty',
      value: '',
    })),
  }
  const p = flat(`${' '.repeat(LONGEST - 2)}y`)
  const whole = booleanOf(all)
  const looks = looksOf(() => evaluateBoolean(whole, 'e', { p }))
  t.ok(looks <= 2 * LONGEST, `within one evaluation too: ${looks} characters`)
})

import t from 'tap'
import { type BooleanFlag, compileFlag, type VariantFlag } from '../../src/evaluation/compile.ts'
import type { Context } from '../../src/evaluation/context.ts'
import { evaluateBoolean, evaluateVariant } from '../../src/evaluation/evaluate.ts'
import type { ConstraintInput, ConstraintType, SegmentInput } from '../../src/evaluation/flag.ts'
import type { Trace } from '../../src/evaluation/trace.ts'

const LONGEST = 65_536
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

/** Texts made for the search to be slow, and some that are only long. */
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

await t.test('an evaluation that looks at too much is refused, and holds up nobody until then', async (t) => {
  const limit = 50
  for (const [name, one] of Object.entries(worst)) {
    for (const matchType of ['all', 'any'] as const) {
      const segment = segmentOf(
        one.text.length < 100 ? 10_000 : 1_000,
        matchType,
        matchType === 'all' ? one : { ...one, operator: one.operator.replace('not', '') },
      )
      const context: Context = { p: flat(one.text) }
      const [flag, variants] = [booleanOf(segment, 100), variantOf(segment)]
      const start = process.cpuUsage()
      const answers = Array.from({ length: 3 }, () => evaluateBoolean(flag, 'e', context))
      const { user, system } = process.cpuUsage(start)
      const each = (user + system) / 3_000
      t.comment(`${name}, ${matchType}: ${each.toFixed(1)} ms CPU, ${'error' in answers[0]! ? 'refused' : 'answered'}`)
      t.ok(each < 4 * limit, `${name}: ${each} ms`)
      if (one.text.length === LONGEST && (matchType === 'any' || one.operator === 'notcontains')) {
        t.same(answers[0], spent, name)
        t.same(evaluateVariant(variants, 'e', context), spent, name)
      }
    }
  }
})

await t.test('the constraints themselves count, and those of an explanation', async (t) => {
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

await t.test('what real flags ask is far below', async (t) => {
  const segment = segmentOf(1_000, 'all', { operator: 'notcontains', value: letters, text: '' })
  t.match(evaluateBoolean(booleanOf(segment, 1), 'e', { p: 'x'.repeat(1_500) }), { reason: 'match', enabled: true })
  t.match(evaluateBoolean(booleanOf(segmentOf(20, 'all', worst['forty letters']!)), 'e', { p: 'a'.repeat(LONGEST) }), {
    reason: 'match',
  })
})

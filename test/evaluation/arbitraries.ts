import * as fc from 'fast-check'
import type { ConstraintInput, FlagInput, SegmentInput } from '../../src/evaluation/flag.ts'

/** A text, or the text with one character inserted, removed or replaced, to find errors near valid texts. */
const nearly = (arb: fc.Arbitrary<string>, alphabet: string): fc.Arbitrary<string> =>
  fc.tuple(arb, fc.nat(7), fc.nat(40), fc.constantFrom(...alphabet.split(''))).map(([text, how, where, char]) => {
    const at = where % (text.length + 1)
    if (how === 0) return text.slice(0, at) + char + text.slice(at)
    if (how === 1) return text.slice(0, at) + text.slice(at + 1)
    if (how === 2) return text.slice(0, at) + char + text.slice(at + 1)
    return text
  })

const digits = (max: number) => fc.string({ unit: fc.constantFrom(...'0123456789'.split('')), maxLength: max })
const hexes = fc.string({ unit: fc.constantFrom(...'0123456789abcdefABCDEF'.split('')), maxLength: 20 })
const sign = fc.constantFrom('', '', '+', '-')
const power = (most: number) =>
  fc
    .integer({ min: -most, max: most })
    .chain((n) => fc.constantFrom(String(n), n < 0 ? String(n) : `+${n}`, `${n < 0 ? '-' : ''}00${Math.abs(n)}`))
const join = (...parts: fc.Arbitrary<string>[]): fc.Arbitrary<string> =>
  fc.tuple(...parts).map((texts) => texts.join(''))
const maybe = (arb: fc.Arbitrary<string>) => fc.oneof(fc.constant(''), arb)

/** Number texts of all forms, extreme values, and near misses. */
export const numberText: fc.Arbitrary<string> = nearly(
  fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: -3, max: 12 }).map(String) },
    fc.constantFrom(
      '1.0',
      '1e0',
      '0x1p0',
      '10',
      '1e1',
      '0xap0',
      '-0',
      '1e400',
      '-1e400',
      '1e-400',
      '1_000',
      '1,5',
      '0x10',
      'nan',
      '+nan',
      'iNf',
      '-Infinity',
      '0x1p4',
      '.',
      '5.',
      '.5',
      '0x.8p1',
      '0x.p1',
      '0x1p1024',
      '0x1.fffffffffffff8p1023',
      '0x1.fffffffffffff7p1023',
      '0x1p-1075',
      '0x1.8p-1075',
      '0x3p-1075',
      '4.9e-324',
      '2.4703282292062327e-324',
      '2.4703282292062328e-324',
      '1.7976931348623157e308',
      '1.7976931348623159e308',
      '9007199254740993',
      '9007199254740992.99999999999999999999',
      ' 1',
      '1 ',
      '',
    ),
    join(
      sign,
      digits(20),
      maybe(join(fc.constant('.'), digits(20))),
      maybe(join(fc.constantFrom('e', 'E'), power(340))),
    ),
    join(
      sign,
      fc.constantFrom('0x', '0X'),
      hexes,
      maybe(join(fc.constant('.'), hexes)),
      fc.constantFrom('p', 'P'),
      power(1100),
    ),
    fc.double().map(String),
  ),
  '0123456789abcdefxXpPeE+-._, inftyNA٣',
)

const two = (max: number) => fc.nat(max).map((n) => String(n).padStart(2, '0'))
const year = fc.oneof(
  fc.constantFrom('2024', '2023', '2000', '1900', '1970', '1969', '0000', '0004', '0100', '9999'),
  fc.nat(9999).map((n) => String(n).padStart(4, '0')),
)
const date = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom('2024-05-01', '2024-02-29', '2023-02-29') },
  { weight: 3, arbitrary: fc.tuple(year, two(13), two(32)).map((parts) => parts.join('-')) },
)

/** Datetime texts of all forms, impossible days and times, and near misses. */
export const datetimeText: fc.Arbitrary<string> = nearly(
  fc.oneof(
    date,
    fc.constantFrom(
      '2024-05-01T00:00:00Z',
      '2024-05-01T02:00:00+02:00',
      '2024-04-30T22:30:00-01:30',
      '2024-05-01T0:00:00Z',
      '2024-05-01T00:00:00.000000001Z',
      '2024-05-01T00:00:00,0000000019Z',
      '2024-05-01t00:00:00Z',
      '2024-05-01T00:00:00+0200',
      '2024-05-01T24:00:00Z',
      '2024-05-01T00:00:60Z',
      '2024-05-02T00:00:00+24:00',
      '2024-05-01T01:00:00+00:60',
      '2024-05-01T00:00:00+25:00',
      '2024-05-01T00:00:00+00:61',
    ),
    join(
      date,
      fc.constant('T'),
      fc.oneof(two(25), fc.nat(25).map(String)),
      fc.constant(':'),
      two(61),
      fc.constant(':'),
      two(61),
      maybe(join(fc.constantFrom('.', ','), digits(12))),
      fc.oneof(fc.constant('Z'), join(fc.constantFrom('+', '-'), two(26), fc.constant(':'), two(62))),
    ),
  ),
  '0123456789-:TZtz+., ',
)

const piece = fc.constantFrom(
  'a',
  'b',
  'ab',
  'A',
  'é',
  'e\u0301',
  '😀',
  'ユ',
  ' ',
  '\u0085',
  '\u00a0',
  '\ufeff',
  '\u200b',
  '\u3000',
  '\t',
  '0',
  'true',
)
const stored = fc.array(piece, { maxLength: 4 }).map((pieces) => pieces.join(''))
const repeated = fc
  .tuple(fc.constantFrom('a', 'ab', 'aab'), fc.integer({ min: 10, max: 40 }), fc.constantFrom('', 'b', 'a'))
  .map(([unit, times, end]) => unit.repeat(times) + end)
/** Text of a request, including unpaired surrogates. */
const asked = fc.oneof(
  { weight: 8, arbitrary: stored },
  repeated,
  fc.array(fc.constantFrom('\ud83d', '\ude00', 'a', '😀'), { maxLength: 4 }).map((pieces) => pieces.join('')),
)

const booleanText = fc.constantFrom(
  '1',
  't',
  'T',
  'TRUE',
  'true',
  'True',
  '0',
  'f',
  'F',
  'FALSE',
  'false',
  'False',
  'tRUE',
  'yes',
  ' true',
  '',
  ' ',
)
const textItem = fc.oneof(stored, asked)
const listText = fc.oneof(
  fc.array(fc.oneof(textItem, fc.constant(null)), { maxLength: 4 }).map((items) => JSON.stringify(items)),
  fc
    .array(fc.oneof(fc.integer({ min: -3, max: 12 }), fc.constantFrom(null, 1.5, 1e21)), { maxLength: 4 })
    .map((items) => JSON.stringify(items)),
  fc.constantFrom(
    'null',
    '[]',
    ' [ "a" , 1 ] ',
    '[1e400]',
    '[1,"a"]',
    '{"0":"a"}',
    '"a"',
    '',
    '[',
    '[true]',
    '[["a"]]',
    '["\\u0061"]',
    '[-0]',
    '[1e0]',
  ),
)

const names = fc.constantFrom('p', 'q', 'é', '__proto__', 'constructor', 'toString', 'entityId', '')
export const entityId: fc.Arbitrary<string> = fc.oneof(
  fc.nat(5000).map((n) => `user-${n}`),
  asked,
  fc.string({ unit: 'binary', maxLength: 12 }),
  repeated,
)

const operators = [
  'eq',
  'neq',
  'empty',
  'notempty',
  'prefix',
  'suffix',
  'isoneof',
  'isnotoneof',
  'contains',
  'notcontains',
  'lt',
  'lte',
  'gt',
  'gte',
  'present',
  'notpresent',
  'true',
  'false',
]
const valueOf = {
  string: fc.oneof({ weight: 3, arbitrary: stored }, repeated),
  number: numberText,
  boolean: booleanText,
  datetime: datetimeText,
  entityId: fc.oneof(
    stored,
    entityId.filter((id) => !/\p{Surrogate}/u.test(id)),
  ),
  unknown: stored,
}

const constraint: fc.Arbitrary<Omit<ConstraintInput, 'id'>> = fc
  .tuple(
    fc.constantFrom('string', 'string', 'number', 'number', 'boolean', 'datetime', 'datetime', 'entityId'),
    fc.nat(120),
  )
  .chain(([known, die]) => {
    const type = die === 0 ? ('unknown' as const) : known
    return fc.record({
      type: fc.constant(type),
      property: type === 'entityId' ? fc.constant('entityId') : names,
      operator: fc.constantFrom(...operators, ...(die === 1 ? ['constructor', '__proto__', 'EQ'] : [])),
      value: fc.oneof({ weight: 3, arbitrary: valueOf[type] }, { weight: 1, arbitrary: listText }),
    })
  })

const segmentKeys = ['s1', 's2', 's3', 'missing']
export const segments: fc.Arbitrary<readonly SegmentInput[]> = fc
  .tuple(
    ...segmentKeys.slice(0, 3).map((key) =>
      fc.record({
        key: fc.constant(key),
        matchType: fc.constantFrom('all' as const, 'any' as const),
        constraints: fc.array(constraint, { maxLength: 4 }),
      }),
    ),
  )
  .map((all) =>
    all.map((segment) => ({
      ...segment,
      constraints: segment.constraints.map((one, n) => ({ id: `${segment.key}-${n}`, ...one })),
    })),
  )

const percent = fc.oneof(
  fc.constantFrom(0, 100, 33.33, 33.34, 0.29, 0.01, 8.01, 50),
  fc.integer({ min: 0, max: 100 }),
  fc.float({ min: 0, max: 100, noNaN: true }),
)
const condition = {
  segments: fc.uniqueArray(fc.constantFrom('s1', 's2', 's3', 's1', 's2', 's3', 'missing'), {
    minLength: 1,
    maxLength: 4,
  }),
  operator: fc.constantFrom('or' as const, 'and' as const),
}
const ranks = fc.uniqueArray(fc.integer({ min: 1, max: 9 }), { minLength: 4, maxLength: 4 })

/** Flags with up to four steps. All text is valid in a request. */
export const flag: fc.Arbitrary<FlagInput> = fc
  .tuple(
    fc.record({
      key: fc.constantFrom('checkout-v2', 'f', 'thirds', 'my_flag,x', 'a'.repeat(70)),
      type: fc.constantFrom('boolean' as const, 'variant' as const),
      enabled: fc.boolean(),
      variantCount: fc.nat(3),
      defaultVariantId: fc.constantFrom(undefined, 'v0', 'v1', 'gone'),
    }),
    ranks,
    fc.array(
      fc.record({
        ...condition,
        distributions: fc.array(fc.record({ variantId: fc.constantFrom('v0', 'v1', 'v2', 'gone'), rollout: percent }), {
          maxLength: 4,
        }),
      }),
      { maxLength: 4 },
    ),
    fc.array(
      fc.oneof(
        fc.record({ type: fc.constant('threshold' as const), percentage: percent, value: fc.boolean() }),
        fc.record({ type: fc.constant('segment' as const), ...condition, value: fc.boolean() }),
      ),
      { maxLength: 4 },
    ),
  )
  .map(([{ variantCount, ...head }, order, rules, rollouts]) => ({
    ...head,
    variants: Array.from({ length: variantCount }, (_, n) => ({
      id: `v${n}`,
      key: `variant ${n}`,
      attachment: n === 0 ? '' : `{"n":${n}}`,
    })),
    rules: rules.map((rule, n) => ({
      ...rule,
      id: `rule-${n}`,
      rank: order[n]!,
      distributions: rule.distributions.map((one, m) => ({ ...one, id: `d${m}` })),
    })),
    rollouts: rollouts.map((rollout, n) => ({ ...rollout, id: `rollout-${n}`, rank: order[n]! })),
  }))

/** Evaluation requests. They reuse values of the flag, so that constraints match often enough. */
export const requests = (all: readonly SegmentInput[], count: number) => {
  const values = all.flatMap(({ constraints }) => constraints.map(({ value }) => value))
  const value = fc.oneof(
    { weight: 2, arbitrary: fc.constantFrom('', ...values) },
    { weight: 1, arbitrary: asked },
    numberText,
    datetimeText,
    booleanText,
  )
  const id = values.length > 0 ? fc.oneof(entityId, fc.constantFrom(...values)) : entityId
  return fc.array(fc.tuple(id, fc.array(fc.tuple(names, value), { maxLength: 6 })), {
    minLength: count,
    maxLength: count,
  })
}

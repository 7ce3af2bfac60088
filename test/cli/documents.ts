import fc from 'fast-check'
import { canonical } from '../../src/base/canonical.ts'
import type { Contents } from '../../src/cli/document/tree.ts'
import { rolloutTypes, segmentOperators } from '../../src/contract/readers/fields.ts'

const time = '2026-01-01T00:00:00.000Z'
/** Members that no document contains. */
const times = { createdAt: time, updatedAt: time }
const ofFlag = { id: 'x', flagKey: 'x', namespaceKey: 'x', ...times }
const ofSegment = { id: 'x', segmentKey: 'x', namespaceKey: 'x', ...times }
export const key = fc.stringMatching(/^[-_,A-Za-z0-9]{1,12}$/)

/** Texts that YAML readers may misinterpret, and any other valid texts. */
const odd = fc.constantFrom(
  'null',
  'true',
  'Yes',
  'off',
  '~',
  '1.0',
  '0x1F',
  '1e3',
  '.inf',
  '-',
  '---',
  '- a',
  '# no comment',
  'a # b',
  'a: b',
  'key:',
  '{',
  '[x]',
  '*a',
  '&a',
  '!t',
  '|',
  '>-',
  '%',
  '@',
  '`',
  "'",
  '"',
  ' lead',
  'trail ',
  'two  spaces',
  'a\nb',
  '\n',
  '\t',
  'a\\b',
  '2026-01-01',
  '<<',
  '=',
  '12:30:45',
  'é ü',
  '日本語',
  '😀',
  '\u2028',
  '\x7f',
  '\u0085',
  '\ufeff',
  'attachment: {"a":1}',
  'a\nattachment: [1]\n',
) // prettier-ignore
const any = fc.string({ unit: 'grapheme', maxLength: 20 }).filter((text) => !/\p{Surrogate}|\0/u.test(text))
/** A valid text. */
export const text = fc.oneof(odd, any)
const name = text.map((text) => (text === '' ? 'x' : text))

/** JSON texts without spaces, including unusual ones. */
const attachment = fc.oneof(
  fc.constantFrom(
    '',
    'null',
    '{"a":1,"a":2}',
    '1.50',
    '-0',
    '"\\u0041\\/"',
    '{"b":[],"a":{}}',
    '[[[[[[1]]]]]]',
    '12345678901234567890',
  ),
  fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify(value)),
)
/** Metadata has no integers above 2^53. */
const keepable = (_: string, value: unknown): unknown =>
  typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER ? 0 : value
const metadata = fc
  .dictionary(
    fc.oneof(text, fc.constant('__proto__')),
    fc.jsonValue({ maxDepth: 2 }).map((value): unknown => JSON.parse(JSON.stringify(value), keepable)),
    { maxKeys: 3 },
  )
  .map((value) => JSON.parse(canonical(JSON.parse(JSON.stringify(value)))) as Record<string, unknown>)
  .filter((value) => !/\\ud[89a-f]|\\u0000/i.test(JSON.stringify(value)))

const subset = (keys: readonly string[]) =>
  fc.shuffledSubarray([...keys], { minLength: 1, maxLength: Math.min(3, keys.length) })
const bySegments = (keys: readonly string[]) =>
  fc
    .tuple(subset(keys), fc.constantFrom(...segmentOperators.names))
    .map(([chosen, operator]) =>
      chosen.length === 1
        ? { segmentKey: chosen[0]!, segmentKeys: [], segmentOperator: segmentOperators.wire.or }
        : { segmentKey: '', segmentKeys: chosen, segmentOperator: operator },
    )
/** float32 values as printed by the service. */
const share = fc.constantFrom(0, 0.1, 12.5, 33.33, 33.34, 50, 100)

const variants = fc.uniqueArray(
  fc
    .record({
      id: fc.uuid(),
      key: name.filter((key) => !/\p{Cc}/u.test(key)),
      name: text,
      description: text,
      attachment,
    })
    .map((variant) => ({ ...ofFlag, ...variant })),
  { selector: ({ key }) => key, maxLength: 3 },
)

const constraint = fc
  .oneof(
    fc.record({
      type: fc.constant('STRING_COMPARISON_TYPE'),
      property: fc.constantFrom('plan', 'country'),
      operator: fc.constantFrom('eq', 'neq', 'prefix', 'contains'),
      value: fc.oneof(fc.constantFrom('a', 'b'), name),
      description: text,
    }),
    fc.record({
      type: fc.constant('NUMBER_COMPARISON_TYPE'),
      property: fc.constant('age'),
      operator: fc.constantFrom('lt', 'gte', 'isoneof'),
      value: fc.constant('[1,2]'),
      description: fc.constant(''),
    }),
    fc.record({
      type: fc.constant('STRING_COMPARISON_TYPE'),
      property: fc.constant('plan'),
      operator: fc.constant('notempty'),
      value: fc.constant(''),
      description: fc.constant(''),
    }),
  )
  .map((constraint) => ({ ...ofSegment, ...constraint }))

const segmentsOf = fc.uniqueArray(
  fc
    .record({
      key,
      name,
      description: text,
      matchType: fc.constantFrom('ALL_MATCH_TYPE', 'ANY_MATCH_TYPE'),
      constraints: fc.array(constraint, { maxLength: 2 }),
    })
    .map((segment) => ({ ...segment, namespaceKey: 'x', ...times })),
  { selector: ({ key }) => key, minLength: 1, maxLength: 4 },
)

const flagOf = (segmentKeys: readonly string[]) =>
  variants.chain((variants) =>
    fc.record({
      flag: fc
        .record({
          key,
          name,
          description: text,
          enabled: fc.boolean(),
          type: fc.constantFrom('VARIANT_FLAG_TYPE', 'BOOLEAN_FLAG_TYPE'),
          metadata,
        })
        .chain((flag) =>
          fc.nat(variants.length).map((chosen) => ({
            ...flag,
            namespaceKey: 'x',
            ...times,
            variants,
            ...(variants[chosen] && { defaultVariant: variants[chosen] }),
          })),
        ),
      rules: fc
        .array(
          fc.tuple(
            bySegments(segmentKeys),
            fc.integer({ min: 1, max: 3 }),
            fc.array(fc.tuple(fc.nat(2), share), { maxLength: 2 }),
          ),
          {
            maxLength: 3,
          },
        )
        .map((rules) => {
          let rank = 0
          return rules.map(([by, gap, shares], n) => ({
            ...ofFlag,
            ...by,
            id: `rule-${n}`,
            rank: (rank += gap),
            distributions:
              variants.length === 0 || shares.reduce((sum, [, rollout]) => sum + rollout, 0) > 100
                ? []
                : shares.map(([variant, rollout]) => ({
                    id: 'x',
                    ruleId: `rule-${n}`,
                    variantId: variants[variant % variants.length]!.id,
                    rollout,
                    ...times,
                  })),
          }))
        }),
      rollouts: fc.array(
        fc.oneof(
          fc
            .record({
              description: text,
              segment: fc.tuple(bySegments(segmentKeys), fc.boolean()).map(([by, value]) => ({ ...by, value })),
            })
            .map((rollout) => ({ ...ofFlag, ...rollout, type: rolloutTypes.wire.segment, rank: 1 })),
          fc
            .record({ description: text, threshold: fc.record({ percentage: share, value: fc.boolean() }) })
            .map((rollout) => ({ ...ofFlag, ...rollout, type: rolloutTypes.wire.threshold, rank: 1 })),
        ),
        { maxLength: 3 },
      ),
    }),
  )

/** Namespaces with all possible content, as returned by the service. */
export const contents: fc.Arbitrary<Contents> = segmentsOf.chain((segments) =>
  fc.record({
    namespace: fc.record({ key, name, description: text }).map((named) => ({ ...named, protected: false, ...times })),
    segments: fc.constant(segments),
    flags: fc.uniqueArray(flagOf(segments.map(({ key }) => key)), { selector: ({ flag }) => flag.key, maxLength: 4 }),
  }),
)

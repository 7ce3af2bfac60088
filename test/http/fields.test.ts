import t from 'tap'
import {
  anyObject,
  choice,
  flag,
  float,
  integer,
  list,
  object,
  optional,
  text,
  timestamp,
} from '../../src/contract/readers/fields.ts'
import { input } from '../../src/contract/readers/input.ts'
import type { Field } from '../../src/contract/readers/value.ts'
import { texts } from '../../src/contract/token-metadata.ts'
import { said } from './said.ts'

const field = (rule: string) => `invalid_argument: invalid field f: ${rule}`
const wrongType = (due: string) => `malformed_body: request body is not valid: f must be ${due}`

const key = text({
  required: true,
  max: 3,
  pattern: { test: (text) => /^[a-z]+$/.test(text), message: 'contains invalid characters' },
})
const kind = choice({ ALL: 0, ANY: 1 }, 'ALL')

const cases: Record<string, readonly (readonly [Field<unknown>, unknown, unknown])[]> = {
  'text is JSON text, trimmed and measured in code points': [
    [text(), undefined, ''],
    [text(), null, ''],
    [text(), 5, wrongType('text')],
    [text(), true, wrongType('text')],
    [text({ max: 2 }), '😀😀', '😀😀'],
    [text({ max: 2 }), '😀😀a', field('must be at most 2 characters')],
    [text({ trim: true }), '  a ', 'a'],
    [text({ required: true, trim: true }), '  ', field('must not be empty')],
    [key, null, field('must not be empty')],
    [key, 'abcd', field('must be at most 3 characters')],
    [key, 'A', field('contains invalid characters')],
    [text(), 'a\0', field('must not contain NUL')],
    [text(), `a rcs_${'0'.repeat(49)}`, field('must not contain a client token')],
    [text(), `a rcs_${'0'.repeat(48)}`, `a rcs_${'0'.repeat(48)}`],
    [text({ stored: false }), `rcs_${'0'.repeat(49)}`, `rcs_${'0'.repeat(49)}`],
    [text(), '\ud800', field('must not contain unpaired surrogates')],
    [text({ stored: false }), '\ud800\0', '\ud800\0'],
    [text(), 'a\nb', 'a\nb'],
    [text({ control: false }), 'a\nb', field('must not contain control characters')],
  ],
  'a boolean is true or false and nothing else': [
    [flag(), undefined, false],
    [flag(), true, true],
    [flag(), 'true', wrongType('true or false')],
    [flag(), 1, wrongType('true or false')],
  ],
  'an integer is an int32, as number or text': [
    [integer(), null, 0],
    [integer(), 2, 2],
    [integer(), '2', 2],
    [integer(), '2.0', 2],
    [integer(), -2147483648, -2147483648],
    [integer(), 2147483648, field('must be an integer')],
    [integer(), 1.5, field('must be an integer')],
    [integer(), '', field('must be an integer')],
    [integer(), '0x1', field('must be an integer')],
    [integer(), false, wrongType('a number')],
    [integer({ min: 0, minMessage: 'must be greater than 0' }), -1, field('must be greater than 0')],
  ],
  'a float is the nearest float32 and finite': [
    [float(), undefined, 0],
    [float(), 33.33, Math.fround(33.33)],
    [float(), '1e2', 100],
    [float(), 1e39, field('must be a finite number')],
    [float(), Infinity, field('must be a finite number')],
    [float(), 'NaN', field('must be a number')],
    [float(), [], wrongType('a number')],
  ],
  'an enum is given by exact name or by number': [
    [kind, undefined, 'ALL'],
    [kind, 'ANY', 'ANY'],
    [kind, 1, 'ANY'],
    [kind, '1', 'ANY'],
    [kind, 'any', field('unknown value "any"')],
    [kind, 7, field('unknown value "7"')],
    [kind, '__proto__', field('unknown value "__proto__"')],
    [kind, true, wrongType('a name or a number')],
    [choice({ A: 0 }), undefined, field('must not be empty')],
  ],
  'a timestamp is RFC 3339 and comes out in UTC with milliseconds': [
    [timestamp(), '2024-02-29T23:59:59.1239+01:30', '2024-02-29T22:29:59.123Z'],
    [timestamp(), '2024-01-01T00:00:00Z', '2024-01-01T00:00:00.000Z'],
    ...[
      '2023-02-29T00:00:00Z',
      '2024-01-01t00:00:00Z',
      '2024-01-01T00:00:00z',
      '2024-01-01T24:00:00Z',
      '2024-01-01',
      '',
      '9999-12-31T23:59:59-01:00',
    ].map((text) => [timestamp(), text, field('must be an RFC 3339 timestamp')] as const),
    [timestamp(), 5, wrongType('text')],
    [timestamp(), null, field('must not be empty')],
    [optional(timestamp()), null, undefined],
  ],
  'a text map keeps any key and turns null into empty text': [
    [texts(), null, {}],
    [texts(), JSON.parse('{"a":null,"b":"c"}'), { a: '', b: 'c' }],
    [texts(), { a: 1 }, 'malformed_body: request body is not valid: f.a must be text'],
    [texts(), ['a'], wrongType('an object')],
    [texts({ maxEntries: 1 }), { a: '', b: '' }, field('must have at most 1 entries')],
    [texts({ maxKey: 2 }), { '': '' }, field('keys must be 1 to 2 characters')],
    [texts({ maxValue: 2 }), { a: 'xxx' }, field('values must be at most 2 characters')],
    [
      texts({ key: (key) => (key === 'r' ? 'key "r" is reserved' : undefined) }),
      { r: '' },
      field('key "r" is reserved'),
    ],
    [texts(), { a: '\0' }, field('must not contain NUL')],
  ],
  'a list names its items, and a wrong type in it comes before a broken rule': [
    [list(key), null, []],
    [list(key), ['a', 'b'], ['a', 'b']],
    [list(key), ['a', ''], 'invalid_argument: invalid field f[1]: must not be empty'],
    [list(key), ['', 5], 'malformed_body: request body is not valid: f[1] must be text'],
    [list(key), {}, wrongType('a list')],
    [list(key, { max: 1 }), ['a', 'b'], field('must contain at most 1 elements')],
    [list(key, { min: 2 }), ['a'], field('must contain atleast 2 elements')],
  ],
  'an object is read by its members and names them by its path': [
    [
      object(input({ percentage: float() })),
      { percentage: 'x' },
      'invalid_argument: invalid field f.percentage: must be a number',
    ],
    [optional(object(input({ percentage: float() }))), undefined, undefined],
    [anyObject(), { a: [1] }, { a: [1] }],
    [anyObject(), 'x', wrongType('an object')],
  ],
}

for (const [sentence, rows] of Object.entries(cases)) {
  void t.test(sentence, (t) => {
    for (const [rule, value, expected] of rows)
      t.same(
        said(() => rule.read(value, 'f')),
        expected,
        JSON.stringify(value),
      )
    t.end()
  })
}

void t.test('a map of texts may have the key __proto__', (t) => {
  const read = texts().read(JSON.parse('{"__proto__":"x"}'), 'f')
  t.ok(Object.hasOwn(read, '__proto__'))
  t.equal(JSON.stringify(read), '{"__proto__":"x"}')
  t.equal(Object.getPrototypeOf(read), Object.prototype)
  t.end()
})

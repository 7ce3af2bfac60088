import fc from 'fast-check'
import t from 'tap'
import { Refusal } from '../../src/errors.ts'
import {
  anyObject,
  choice,
  type Field,
  flag,
  float,
  integer,
  list,
  object,
  optional,
  text,
  texts,
  timestamp,
} from '../../src/http/fields.ts'
import { input, member, query } from '../../src/http/input.ts'
import { deeperThan } from '../../src/http/body.ts'

/** What a reader says: the value, or `reason: message`. */
const said = (read: () => unknown): unknown => {
  try {
    return read()
  } catch (error) {
    if (error instanceof Refusal) return `${error.reason}: ${error.message}`
    throw error
  }
}
const field = (rule: string) => `invalid_argument: invalid field f: ${rule}`
const wrongType = (due: string) => `malformed_body: request body is not valid: f must be ${due}`

const key = text({ required: true, max: 3, pattern: { test: (text) => /^[a-z]+$/.test(text), message: 'contains invalid characters' } })
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
    [texts({ key: (key) => (key === 'r' ? 'key "r" is reserved' : undefined) }), { r: '' }, field('key "r" is reserved')],
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
    [object(input({ percentage: float() })), { percentage: 'x' }, 'invalid_argument: invalid field f.percentage: must be a number'],
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

void t.test('a key named __proto__ is an ordinary key of a text map', (t) => {
  const read = texts().read(JSON.parse('{"__proto__":"x"}'), 'f')
  t.ok(Object.hasOwn(read, '__proto__'))
  t.equal(JSON.stringify(read), '{"__proto__":"x"}')
  t.equal(Object.getPrototypeOf(read), Object.prototype)
  t.end()
})

void t.test('members are taken in camelCase or snake_case, never both, and unknown ones are ignored', (t) => {
  const body = input({ flagKey: key, rank: integer(), service_account_token: text() })
  t.same(body.read({ flag_key: 'a', rank: 2, other: 1 }), { flagKey: 'a', rank: 2, service_account_token: '' })
  t.same(body.read({ flagKey: 'a', serviceAccountToken: 'x' }), { flagKey: 'a', rank: 0, service_account_token: 'x' })
  t.equal(
    said(() => body.read({ flagKey: 'a', flag_key: 'a' })),
    'malformed_body: request body is not valid: flagKey and flag_key are the same field',
  )
  t.equal(
    said(() => body.read({ rank: [] })),
    'malformed_body: request body is not valid: rank must be a number',
    'a wrong type comes before an empty key',
  )
  t.equal(
    said(() => body.read(JSON.parse('{"__proto__":{"flagKey":"a"}}'))),
    'invalid_argument: invalid field flagKey: must not be empty',
  )
  t.equal(member({ namespace_key: 'n' }, 'namespaceKey'), 'n')
  t.same(body.schema.required, ['flagKey'])
  t.end()
})

void t.test('query parameters are read from the raw query string', (t) => {
  const read = query({ limit: integer({ min: 0 }), pageToken: text(), force: flag(), method: optional(kind) })
  const nothing = { limit: 0, pageToken: '', force: false, method: undefined }
  const rows: readonly (readonly [string, unknown])[] = [
    ['', nothing],
    ['limit=&page_token=&force=&reference=', nothing],
    ['force', { ...nothing, force: true }],
    ['force=1&limit=2.0&pageToken=a%2Bb+c', { ...nothing, force: true, limit: 2, pageToken: 'a+b c' }],
    ['force=0&method=1', { ...nothing, method: 'ANY' }],
    ['limit', nothing],
    ['force=yes', 'invalid_argument: invalid field force: must be true or false'],
    ['limit=1&limit=1', 'invalid_argument: invalid field limit: given twice'],
    ['limit=&limit=1', 'invalid_argument: invalid field limit: given twice'],
    ['pageToken=a&page_token=b', 'malformed_body: request body is not valid: pageToken and page_token are the same field'],
    ['limit=-1', 'invalid_argument: invalid field limit: must be at least 0'],
    ['limit=%zz', 'invalid_argument: invalid field limit: is not valid percent-encoding'],
    ['other=%zz&%zz=1&__proto__=x', nothing],
    ['method=any', 'invalid_argument: invalid field method: unknown value "any"'],
  ]
  for (const [raw, expected] of rows)
    t.same(
      said(() => read.read(raw)),
      expected,
      raw,
    )
  t.end()
})

void t.test('reading any JSON value gives a value or a refusal with status 400', (t) => {
  const body = input({
    key,
    rank: integer(),
    part: float(),
    kind,
    at: optional(timestamp()),
    meta: texts(),
    items: list(text()),
    on: flag(),
  })
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom('key', 'rank', 'part', 'kind', 'at', 'meta', 'items', 'on', '__proto__'), fc.jsonValue()),
      (raw) => {
        try {
          const read = body.read(raw)
          return Number.isInteger(read.rank) && read.key.length > 0 && Math.fround(read.part) === read.part
        } catch (error) {
          return error instanceof Refusal && error.status === 400
        }
      },
    ),
    { numRuns: 500 },
  )
  t.pass('no other error was thrown')
  t.end()
})

void t.test('depth is counted outside of texts only', (t) => {
  const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
  t.notOk(deeperThan(64, nested(64)))
  t.ok(deeperThan(64, nested(65)))
  t.ok(deeperThan(64, '{"a":'.repeat(65)))
  t.notOk(deeperThan(64, JSON.stringify('['.repeat(200))))
  t.notOk(deeperThan(64, JSON.stringify(`"\\${'{'.repeat(200)}`)))
  t.notOk(deeperThan(64, `[${'[],'.repeat(500)}[]]`))
  t.end()
})

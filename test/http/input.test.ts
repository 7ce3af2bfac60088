import * as fc from 'fast-check'
import t from 'tap'
import { choice, flag, float, integer, list, optional, text, timestamp } from '../../src/contract/readers/fields.ts'
import { input, member, query, queryIn } from '../../src/contract/readers/input.ts'
import { texts } from '../../src/contract/readers/texts.ts'
import { Refusal } from '../../src/errors.ts'
import { excessOf } from '../../src/http/wire/body.ts'
import { said } from './said.ts'

const key = text({ required: true, max: 3 })
const kind = choice({ ALL: 0, ANY: 1 }, 'ALL')

void t.test('accepts members in camelCase or snake_case, not both, and ignores unknown ones', (t) => {
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

void t.test('reads query parameters from the raw query string', (t) => {
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
    [
      'pageToken=a&page_token=b',
      'malformed_body: request body is not valid: pageToken and page_token are the same field',
    ],
    ['limit=-1', 'invalid_argument: invalid field limit: must be at least 0'],
    ['limit=%zz', 'invalid_argument: invalid field limit: is not valid percent-encoding'],
    ['other=%zz&%zz=1&__proto__=x', nothing],
    ['method=any', 'invalid_argument: invalid field method: unknown value "any"'],
  ]
  for (const [raw, expected] of rows)
    t.same(
      said(() => read.read(queryIn(raw))),
      expected,
      raw,
    )
  t.end()
})

void t.test('reading any JSON value returns a value or a refusal with status 400', (t) => {
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
      fc.dictionary(
        fc.constantFrom('key', 'rank', 'part', 'kind', 'at', 'meta', 'items', 'on', '__proto__'),
        fc.jsonValue(),
      ),
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

void t.test('depth and members are counted outside of texts only', (t) => {
  const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
  t.equal(excessOf(nested(64)), undefined)
  t.equal(excessOf(nested(65)), 'depth')
  t.equal(excessOf('{"a":'.repeat(65)), 'depth')
  t.equal(excessOf(JSON.stringify('['.repeat(200))), undefined)
  t.equal(excessOf(JSON.stringify(`"\\${'{'.repeat(200)}`)), undefined)
  t.equal(excessOf(`[${'[],'.repeat(500)}[]]`), undefined)

  const membersOf = (value: unknown): number =>
    typeof value === 'object' && value !== null
      ? Object.values(value).reduce<number>((sum, member) => sum + 1 + membersOf(member), 0)
      : 0
  const counts = (value: unknown): boolean => {
    const members = membersOf(value)
    return [JSON.stringify(value), JSON.stringify(value, null, 2)].every(
      (text) =>
        text.length <= members * 2 ||
        (excessOf(text, 1000, members) === undefined &&
          (members === 0 || excessOf(text, 1000, members - 1) === 'members')),
    )
  }
  fc.assert(fc.property(fc.jsonValue({ maxDepth: 8 }), counts), { numRuns: 500 })
  t.end()
})

import * as fc from 'fast-check'
import t from 'tap'
import { Refusal } from '../../src/base/errors.ts'
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
import { type Fields, input, member, query, queryIn } from '../../src/contract/readers/input.ts'
import type { Field } from '../../src/contract/readers/value.ts'
import { type Raw, settle } from '../../src/contract/readers/value.ts'
import { texts } from '../../src/contract/token-metadata.ts'
import { excessOf } from '../../src/http/wire/body.ts'
import { said } from './said.ts'

const key = text({ required: true, max: 3 })
const kind = choice({ ALL: 0, ANY: 1 }, 'ALL')

void t.test('fields of a body have camelCase or snake_case names, and unknown ones are ignored', (t) => {
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

void t.test('a field reader returns a value or refuses with 400 for any JSON value', (t) => {
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

const pool: Fields = {
  flagKey: key,
  rank: integer({ min: 0 }),
  part: float(),
  kindOfMatch: kind,
  kind: choice({ ALL: 0, ANY: 1 }),
  expiresAt: optional(timestamp()),
  created_at: timestamp(),
  metadata: texts(),
  context: anyObject(),
  items: list(text()),
  someItems: list(text(), { min: 1 }),
  isOn: flag(),
  threshold: object(input({ percentage: float(), value: flag(), key })),
  segment: optional(object(input({ segmentKeys: list(key, { min: 1 }) }))),
}

const respelled = (name: string): string =>
  name.includes('_')
    ? name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    : name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
const spellings = Object.keys(pool).flatMap((name) => [name, respelled(name)])
/** Number of members of a body with a spelling of this name. */
const given = (raw: Raw, name: string): number =>
  [...new Set([name, respelled(name)])].filter((spelling) => Object.hasOwn(raw, spelling)).length

/** Reads every field of a body, absent or not, in the order of their declaration. */
const readEach = (fields: Fields, raw: Raw, under: string | undefined): unknown => {
  const given = Object.keys(fields).map((name) => [name, member(raw, name)] as const)
  const read: Record<string, unknown> = {}
  let wrong: Error | undefined
  for (const [name, value] of given) {
    try {
      read[name] = fields[name]!.read(value, under === undefined ? name : `${under}.${name}`)
    } catch (error) {
      wrong = settle(error, wrong)
    }
  }
  if (wrong) throw wrong
  return read
}

void t.test('an absent field gives the same value or refusal as if its reader had read it', (t) => {
  const names = fc.shuffledSubarray(Object.keys(pool))
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom(null, undefined, '', 'a', 1, -1, true, 'ALL', '2026-01-01T00:00:00Z', ['a'], {}, { key: 'a' }),
  )
  const raws = fc.dictionary(fc.constantFrom(...spellings, 'other', '__proto__'), value, { maxKeys: 4 })
  fc.assert(
    fc.property(names, raws, fc.constantFrom(undefined, 'changes[1]'), (names, raw, under) => {
      const fields: Fields = Object.fromEntries(names.map((name) => [name, pool[name]!]))
      // Both spellings of a name are refused before any field is read; which of several is named depends on the body.
      const twice = names.filter((name) => given(raw, name) > 1)
      fc.pre(twice.length <= 1)
      const reader = input(fields)
      const [read, each] = [() => reader.read(raw, under), () => readEach(fields, raw, under)]
      return JSON.stringify(said(read)) === JSON.stringify(said(each))
    }),
    { numRuns: 2000 },
  )
  t.pass('both readers agree')
  t.end()
})

void t.test('the value for an absent field is computed once, when its reader is created', (t) => {
  const seen: unknown[] = []
  const noting = (field: Field<unknown>): Field<unknown> => ({
    ...field,
    read: (value, name) => {
      seen.push([name, value])
      return field.read(value, name)
    },
  })
  const { read } = input({ name: noting(text()), items: noting(list(text())), key: noting(key) })
  t.same(seen.splice(0), [
    ['name', undefined],
    ['items', undefined],
    ['key', undefined],
  ])
  const [first, second] = [read({ key: 'a' }), read({ key: 'b' })]
  t.same(seen.splice(0), [
    ['key', 'a'],
    ['key', 'b'],
  ])
  t.same(first, { name: '', items: [], key: 'a' })
  t.ok(first.items === second.items && Object.isFrozen(first.items), 'all requests share the value')
  t.equal(
    said(() => read({})),
    'invalid_argument: invalid field key: must not be empty',
  )
  t.same(seen, [['key', undefined]], 'only the refusal is made for the request')
  t.end()
})

void t.test('depth and number of fields in a body are counted outside of texts only', (t) => {
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

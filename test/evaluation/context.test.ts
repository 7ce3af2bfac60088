import t from 'tap'
import { exactText, parseExactly } from '../../src/base/exact-json.ts'
import { contextOf, contextText } from '../../src/contract/entity.ts'

await t.test('members of a JSON context are converted to text', async (t) => {
  const texts: Readonly<Record<string, string>> = {
    '"a b"': 'a b',
    '""': '',
    '0': '0',
    '-0': '0',
    '1.0': '1',
    '33.33': '33.33',
    '1e3': '1000',
    '1e21': '1e+21',
    '0.1': '0.1',
    '9007199254740993': '9007199254740993',
    '-9007199254740993': '-9007199254740993',
    '9007199254740991': '9007199254740991',
    '10000000000000000000000': '10000000000000000000000',
    '9007199254740993.0': '9007199254740993',
    '9.007199254740993e15': '9007199254740993',
    '90071992547409930E-1': '9007199254740993',
    '9007199254740992.5': '9007199254740992',
    '{"a": [1, 9007199254740993], "b": {"c": -18446744073709551617}}':
      '{"a":[1,9007199254740993],"b":{"c":-18446744073709551617}}',
    '["9007199254740993\\\\", 9007199254740993, "\\"9007199254740995"]':
      '["9007199254740993\\\\",9007199254740993,"\\"9007199254740995"]',
    true: 'true',
    false: 'false',
    null: '',
    '[]': '[]',
    '[1, "a", null, {"b": [true]}]': '[1,"a",null,{"b":[true]}]',
    '{ "a": 1.50, "__proto__": "x" }': '{"a":1.5,"__proto__":"x"}',
  }
  for (const [json, text] of Object.entries(texts)) t.equal(contextText(parseExactly(json)), text, json)
})

await t.test('a number out of range is refused with its place', async (t) => {
  for (const [json, field] of [
    ['1e400', 'context'],
    ['[0, {"a": -1e999}]', 'context[1].a'],
    ['9'.repeat(400), 'context'],
  ] as const)
    t.throws(() => contextText(parseExactly(json)), {
      message: `invalid field ${field}: must not contain numbers out of range`,
    })
})

await t.test('a JSON text keeps its integers, members and errors', async (t) => {
  for (const json of [
    '{"__proto__":9007199254740993,"b":{},"a":["9007199254740993",1.5,null,true]}',
    '[18446744073709551615]',
  ]) {
    t.equal(exactText(parseExactly(json)), json)
  }
  t.ok(Object.hasOwn(parseExactly('{"__proto__":9007199254740993}') as object, '__proto__'))
  for (const json of [
    '{9007199254740993:1}',
    '[9007199254740993',
    '09007199254740993',
    '9007199254740993.',
    '1.2.3.4.5.6.7.8.9.0',
    '"9007199254740993',
  ])
    t.throws(() => parseExactly(json), SyntaxError, json)
})

await t.test('a context whose values are all texts is returned unchanged', async (t) => {
  const text = JSON.parse('{"a":"b","__proto__":"c"}') as Record<string, unknown>
  t.equal(contextOf(text), text)
  const mixed = contextOf(JSON.parse('{"a":"b","n":1,"__proto__":true,"constructor":null}') as Record<string, unknown>)
  t.same(Object.entries(mixed), [
    ['a', 'b'],
    ['n', '1'],
    ['__proto__', 'true'],
    ['constructor', ''],
  ])
  t.equal(Object.getPrototypeOf(mixed), null)
})

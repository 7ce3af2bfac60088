import t from 'tap'
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
    '9007199254740993': '9007199254740992',
    true: 'true',
    false: 'false',
    null: '',
    '[]': '[]',
    '[1, "a", null, {"b": [true]}]': '[1,"a",null,{"b":[true]}]',
    '{ "a": 1.50, "__proto__": "x" }': '{"a":1.5,"__proto__":"x"}',
  }
  for (const [json, text] of Object.entries(texts)) t.equal(contextText(JSON.parse(json)), text, json)
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

import t from 'tap'
import { canonical } from '../../src/base/canonical.ts'

/** Number with a 64-bit IEEE 754 pattern, in hexadecimal. */
const double = (hex: string): number => Buffer.from(hex, 'hex').readDoubleBE()

await t.test('the sample in RFC 8785 §3.2.2 gives the bytes in §3.2.4', async (t) => {
  const sample = String.raw`{
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
  }`
  const due =
    '7b226c69746572616c73223a5b6e756c6c2c747275652c66616c73655d2c226e756d62657273223a5b3333333333333333332e333333333333332c31652b33302c342e352c302e3030322c31652d32375d2c22737472696e67223a22e282ac245c75303030665c6e4127425c225c5c5c5c5c222f227d'
  t.equal(Buffer.from(canonical(JSON.parse(sample))).toString('hex'), due)
})

await t.test('members of canonical JSON are sorted by UTF-16 code units (RFC 8785 §3.2.3)', async (t) => {
  const sample = {
    '\u20ac': 'Euro Sign',
    '\r': 'Carriage Return',
    '\ufb33': 'Hebrew Letter Dalet With Dagesh',
    '1': 'One',
    '\ud83d\ude00': 'Emoji: Grinning Face',
    '\u0080': 'Control',
    '\u00f6': 'Latin Small Letter O With Diaeresis',
  }
  t.same(Object.values(JSON.parse(canonical(sample).replaceAll('"1"', '"one"')) as Record<string, string>), [
    'Carriage Return',
    'One',
    'Control',
    'Latin Small Letter O With Diaeresis',
    'Euro Sign',
    'Emoji: Grinning Face',
    'Hebrew Letter Dalet With Dagesh',
  ])
})

await t.test('numbers in canonical JSON have the form of appendix B of RFC 8785', async (t) => {
  const vectors: readonly (readonly [hex: string, text: string])[] = [
    ['0000000000000000', '0'],
    ['8000000000000000', '0'],
    ['0000000000000001', '5e-324'],
    ['8000000000000001', '-5e-324'],
    ['7fefffffffffffff', '1.7976931348623157e+308'],
    ['ffefffffffffffff', '-1.7976931348623157e+308'],
    ['4340000000000000', '9007199254740992'],
    ['c340000000000000', '-9007199254740992'],
    ['4430000000000000', '295147905179352830000'],
    ['44b52d02c7e14af5', '9.999999999999997e+22'],
    ['44b52d02c7e14af6', '1e+23'],
    ['44b52d02c7e14af7', '1.0000000000000001e+23'],
    ['444b1ae4d6e2ef4e', '999999999999999700000'],
    ['444b1ae4d6e2ef4f', '999999999999999900000'],
    ['444b1ae4d6e2ef50', '1e+21'],
    ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
    ['3eb0c6f7a0b5ed8d', '0.000001'],
    ['41b3de4355555553', '333333333.3333332'],
    ['41b3de4355555554', '333333333.33333325'],
    ['41b3de4355555555', '333333333.3333333'],
    ['41b3de4355555556', '333333333.3333334'],
    ['41b3de4355555557', '333333333.33333343'],
    ['becbf647612f3696', '-0.0000033333333333333333'],
    ['43143ff3c1cb0959', '1424953923781206.2'],
  ]
  for (const [hex, text] of vectors) t.equal(canonical(double(hex)), text, hex)
})

await t.test('canonical JSON leaves undefined out of objects and writes null in lists', async (t) => {
  t.equal(canonical({ b: undefined, a: [undefined, { z: 1, y: [] }], c: null }), '{"a":[null,{"y":[],"z":1}],"c":null}')
})

await t.test('canonical JSON of NaN and infinite numbers is an error', async (t) => {
  for (const value of [Number.NaN, Infinity, -Infinity]) t.throws(() => canonical({ value }), /not a JSON number/)
})

import t from 'tap'
import { compileConstraint, trim } from '../../src/evaluation/constraint.ts'
import type { ConstraintType } from '../../src/evaluation/flag.ts'
import { parseDatetime, parseNumber } from '../../src/evaluation/values.ts'

/** Operator, the constraint's value, matching values, other values. */
type Row = readonly [operator: string, of: string, yes: readonly string[], no: readonly string[]]

const strings: readonly Row[] = [
  ['empty', '', ['', ' ', '\u0085\u3000\t'], ['a', '\ufeff', ' a ']],
  ['notempty', '', ['a', '\ufeff', ' a '], ['', ' ', '\u0085\u3000\t']],
  ['eq', 'a', ['a'], ['', 'A', ' a', 'a ', 'b']],
  ['eq', '', [], ['', 'a']],
  ['eq', 'é', ['é'], ['e\u0301']],
  ['neq', 'a', ['A', ' a', 'b', ' '], ['a', '']],
  ['neq', '', ['a', ' '], ['']],
  ['prefix', 'ab', ['ab', 'abc', '  abc', '\u0085abc'], ['', 'a', 'cab', 'ABC', '\ufeffabc']],
  ['prefix', ' a', [], [' a', 'a']],
  ['suffix', 'ab', ['ab', 'cab', 'cab  '], ['', 'b', 'abc']],
  ['contains', 'b', ['abc', 'b'], ['', 'aBc']],
  ['contains', ' b', ['a b'], ['b', 'ab']],
  ['notcontains', 'b', ['a', ' '], ['', 'abc']],
  ['isoneof', '["a",null,"ü"]', ['a', 'ü'], ['', 'b', ' a']],
  ['isnotoneof', '["a",null]', ['b', ' a'], ['', 'a']],
  ['isoneof', 'null', [], ['a', '']],
  ['isnotoneof', 'null', ['a'], ['']],
  ['isoneof', '["a",1]', [], ['a', '1', 'b']],
  ['isnotoneof', '["a",1]', [], ['a', '1', 'b']],
  ['isoneof', 'a', [], ['a']],
  ['isnotoneof', 'a', [], ['a', 'b']],
  ['lt', 'b', [], ['a', 'b', 'c', '']],
  ['constructor', 'a', [], ['a', '']],
]

const numbers: readonly Row[] = [
  ['present', '', ['0', 'x'], ['', ' ', '\u0085']],
  ['notpresent', '', ['', ' ', '\u0085'], ['0', 'x']],
  ['eq', '10', ['10', '1e1', '10.0', '0xap0', '+10', '010'], ['', ' 10', '10 ', '11', 'x', 'nan', '0xa']],
  ['neq', '10', ['11', 'nan', '-10'], ['', 'x', '10', '1e1', ' 11']],
  ['lt', '10', ['9.99', '-inf'], ['10', '11', '', 'x', 'nan']],
  ['lte', '10', ['9', '10'], ['10.1', '', 'nan']],
  ['gt', '10', ['10.1', 'Infinity'], ['10', '9', '', 'nan', '1e400']],
  ['gte', '10', ['10', '11'], ['9', '', 'nan']],
  ['eq', 'ten', [], ['10', 'ten', '']],
  ['neq', 'ten', [], ['10', 'ten', '']],
  ['eq', 'nan', [], ['nan', '1', '']],
  ['neq', 'nan', ['nan', '1'], ['', 'x']],
  ['lt', '', [], ['1', '', '-1']],
  ['eq', '0', ['-0', '0', '1e-400'], ['']],
  [
    'eq',
    '9007199254740992',
    ['9007199254740992', '9007199254740992.0', '0x1p53'],
    ['9007199254740993', '9007199254740991'],
  ],
  ['neq', '9007199254740993', ['9007199254740992', '9007199254740994'], ['9007199254740993', '+9007199254740993']],
  ['gt', '-18446744073709551616', ['-18446744073709551615', '1'], ['-18446744073709551617', '-inf', 'nan']],
  ['lte', '9007199254740993', ['9007199254740993', '1.5', '-1e300'], ['9007199254740994', '1e16', 'inf', 'nan']],
  ['lt', '1.5', ['1', '-9007199254740993'], ['9007199254740993']],
  ['isoneof', '[9007199254740993,1e21]', ['9007199254740993', '1000000000000000000000'], ['9007199254740992']],
  ['isnotoneof', '[9007199254740993]', ['9007199254740992', '1'], ['9007199254740993', '']],
  ['isoneof', '[1,2.5,null]', ['1', '2.5', '25e-1', '0', '-0'], ['', '3', 'x', 'nan']],
  ['isnotoneof', '[1,2.5,null]', ['3', 'nan', 'inf'], ['', '1', '2.50', '0', 'x']],
  ['isoneof', '["1"]', [], ['1']],
  ['isnotoneof', '["1"]', [], ['1', '2']],
  ['isnotoneof', '[1e400]', [], ['1', '2']],
  ['isnotoneof', 'null', ['1', 'nan'], ['', 'x']],
]

const truths = ['1', 't', 'T', 'TRUE', 'true', 'True']
const falsehoods = ['0', 'f', 'F', 'FALSE', 'false', 'False']
const neither = ['', ' true', 'true ', 'tRUE', 'yes', 'no', '2', 'on', 'fALSE']

const booleans: readonly Row[] = [
  ['present', '', ['x', 'false'], ['', '\u2003']],
  ['notpresent', '', ['', '\u2003'], ['x', 'false']],
  ['true', '', truths, [...falsehoods, ...neither]],
  ['false', '', falsehoods, [...truths, ...neither]],
]

const noon = '2024-05-01T12:00:00Z'
const datetimes: readonly Row[] = [
  ['present', '', ['x', noon], ['', ' ']],
  ['notpresent', '', ['', ' '], ['x', noon]],
  [
    'eq',
    noon,
    [noon, '2024-05-01T14:00:00+02:00', '2024-05-01T12:00:00.0000000009Z', '2024-05-01T12:00:00,0Z'],
    ['', 'x', '2024-05-01T12:00:00.000000001Z'],
  ],
  ['neq', noon, ['2024-05-01T12:00:00.000000001Z', '2024-05-01'], ['', 'x', noon]],
  ['lt', noon, ['2024-05-01T11:59:59.999999999Z', '2024-05-01', '0000-01-01'], [noon, '', 'x', '2024-05-02']],
  ['lte', noon, [noon, '2024-05-01'], ['2024-05-01T12:00:00.000000001Z', '']],
  ['gt', noon, ['2024-05-01T12:00:00.000000001Z', '2024-05-02'], [noon, '', '2024-05-01']],
  ['gte', noon, [noon, '2024-05-02'], ['2024-05-01', '']],
  ['eq', '2024-05-01', ['2024-05-01', '2024-05-01T0:00:00Z'], ['2024-05-01T00:00:01Z']],
  ['neq', 'x', [], ['2024-05-01', 'x', '']],
]

const tables: Readonly<Record<ConstraintType, readonly Row[]>> = {
  string: strings,
  entityId: strings,
  number: numbers,
  boolean: booleans,
  datetime: datetimes,
}

for (const [type, rows] of Object.entries(tables) as [ConstraintType, readonly Row[]][]) {
  await t.test(`a ${type} constraint matches exactly the values that its operator allows`, async (t) => {
    for (const [operator, value, yes, no] of rows) {
      const constraint = compileConstraint({ id: 'c', type, property: 'p', operator, value })!
      for (const v of yes) t.equal(constraint.holds(v), true, `${JSON.stringify(v)} ${operator} ${value}`)
      for (const v of no) t.equal(constraint.holds(v), false, `not ${JSON.stringify(v)} ${operator} ${value}`)
    }
  })
}

await t.test('a constraint of unknown type is not compiled', async (t) => {
  for (const type of ['unknown', 'constructor', '__proto__'] as 'unknown'[]) {
    t.equal(compileConstraint({ id: 'c', type, property: 'p', operator: 'eq', value: 'a' }), undefined)
  }
})

await t.test('an entityId constraint compares the id of the entity, not a property', async (t) => {
  t.equal(
    compileConstraint({ id: 'c', type: 'entityId', property: 'entityId', operator: 'eq', value: 'a' })!.property,
    undefined,
  )
  t.equal(
    compileConstraint({ id: 'c', type: 'string', property: 'entityId', operator: 'eq', value: 'a' })!.property,
    'entityId',
  )
})

await t.test('a property with a number as text is compared as a number', async (t) => {
  const texts: Readonly<Record<string, number | bigint>> = {
    '.5': 0.5,
    '5.': 5,
    '+5': 5,
    '1e5': 100_000,
    '1E+5': 100_000,
    '1e-400': 0,
    '0x1p4': 16,
    '-0X1.8P1': -3,
    '0x.8p1': 1,
    '0x1p-1074': 5e-324,
    '0x1p-1075': 0,
    '0x1.8p-1075': 5e-324,
    '0x1.00000000000008p0': 1,
    '0x1.000000000000080000000000000000001p0': 1 + 2 ** -52,
    '0x1.fffffffffffff7p1023': BigInt(Number.MAX_VALUE),
    '9007199254740991': 9007199254740991,
    '+9007199254740993': 9007199254740993n,
    '-009007199254740993': -9007199254740993n,
    inf: Infinity,
    '-INFINITY': -Infinity,
    '+Inf': Infinity,
    NaN: NaN,
    nAn: NaN,
  }
  for (const [text, number] of Object.entries(texts))
    t.ok(Object.is(parseNumber(text), number), `${text} = ${parseNumber(text)}`)
  const refused = [
    '',
    '.',
    '+',
    '-.',
    'e5',
    '1e',
    '1e+',
    '0x10',
    '0xp1',
    '0x.p1',
    '0x1p',
    '1_000',
    '1,5',
    ' 1',
    '1 ',
    '1\n',
    '--1',
    '+nan',
    '-nan',
    'infinit',
    'in',
    '1e400',
    '-1e400',
    '0x1p1024',
    '0x1.fffffffffffff8p1023',
    '٣',
    '1.2.3',
    '0b1',
    '0o7',
    '1n',
  ]
  for (const text of refused) t.equal(parseNumber(text), undefined, JSON.stringify(text))
})

await t.test('a property with a date and time as text is compared as a time', async (t) => {
  const texts: Readonly<Record<string, string>> = {
    '2024-02-29': '2024-02-29T00:00:00.000Z',
    '2024-05-01T5:04:03Z': '2024-05-01T05:04:03.000Z',
    '2024-05-01T05:04:03.25Z': '2024-05-01T05:04:03.250Z',
    '2024-05-01T05:04:03,25Z': '2024-05-01T05:04:03.250Z',
    '2024-05-01T00:00:00+24:60': '2024-04-29T23:00:00.000Z',
    '2024-05-01T00:00:00-00:30': '2024-05-01T00:30:00.000Z',
    '0000-02-29': '0000-02-29T00:00:00.000Z',
    '0099-12-31T23:59:59Z': '0099-12-31T23:59:59.000Z',
    '1969-12-31T23:59:59.999Z': '1969-12-31T23:59:59.999Z',
  }
  for (const [text, wanted] of Object.entries(texts)) {
    const { seconds, nanoseconds } = parseDatetime(text)!
    t.equal(new Date(seconds * 1000 + nanoseconds / 1e6).toISOString(), wanted, text)
  }
  t.same(
    parseDatetime('1970-01-01T00:00:00.1234567899Z'),
    { seconds: 0, nanoseconds: 123_456_789 },
    'digits after the ninth are cut',
  )
  const refused = [
    '',
    '2024',
    '2024-5-01',
    '2024-05-1',
    '2023-02-29',
    '1900-02-29',
    '2024-04-31',
    '2024-00-01',
    '2024-13-01',
    '2024-01-00',
    '24-01-01',
    '02024-01-01',
    '2024-05-01T',
    '2024-05-01T00:00:00',
    '2024-05-01t00:00:00Z',
    '2024-05-01T00:00:00z',
    '2024-05-01 00:00:00Z',
    '2024-05-01T24:00:00Z',
    '2024-05-01T00:60:00Z',
    '2024-05-01T00:00:60Z',
    '2024-05-01T00:0:00Z',
    '2024-05-01T00:00:0Z',
    '2024-05-01T00:00Z',
    '2024-05-01T00:00:00.Z',
    '2024-05-01T00:00:00+0200',
    '2024-05-01T00:00:00+02',
    '2024-05-01T00:00:00+25:00',
    '2024-05-01T00:00:00+00:61',
    '2024-05-01T00:00:00Z ',
    ' 2024-05-01',
    '2024-05-01\n',
    '2024-05-01Z',
    '٢024-05-01',
  ]
  for (const text of refused) t.equal(parseDatetime(text), undefined, JSON.stringify(text))
})

await t.test('white space is trimmed as Unicode defines it', async (t) => {
  for (let point = 0; point < 0x110000; point++) {
    const char = String.fromCodePoint(point)
    const space = /^\p{White_Space}$/u.test(char)
    if (trim(`${char}a${char}`) !== (space ? 'a' : `${char}a${char}`)) t.fail(`U+${point.toString(16)}`)
  }
  t.equal(trim(' a b\u0085'), 'a b')
})

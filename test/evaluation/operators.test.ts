import t from 'tap'
import { compileConstraint } from '../../src/evaluation/constraint.ts'
import type { ConstraintType } from '../../src/evaluation/flag.ts'
import { checkConstraint, operators, valueless } from '../../src/evaluation/operators.ts'

const all = [...new Set(Object.values(operators).flat())]
const check = (
  type: ConstraintType | 'unknown',
  operator: string,
  value: string,
  property = type === 'entityId' ? 'entityId' : 'p',
) => checkConstraint({ type, property, operator, value })
const valid = (operator: string, value: string) => ({ kind: 'valid', operator, value })
const refused = (message: string) => ({ kind: 'refused', message })
const field = (name: string, description: string) => ({ kind: 'field', field: name, description })
const fitting = (type: string, operator: string) =>
  operator.endsWith('oneof') ? '[]' : type === 'datetime' ? '2024-05-01' : 'a'

await t.test('each type of constraint accepts exactly its operators', async (t) => {
  for (const type of Object.keys(operators) as ConstraintType[]) {
    const own: readonly string[] = operators[type]
    for (const operator of [...all, 'constructor', 'x']) {
      const value = fitting(type, operator)
      const wanted = own.includes(operator)
        ? valid(operator, valueless.has(operator) ? '' : value)
        : refused(`constraint operator "${operator}" is not valid for type ${type}`)
      t.same(check(type, operator, value), wanted, `${type} ${operator}`)
    }
  }
})

await t.test('every operator that can be stored can match', async (t) => {
  const holding: Readonly<Record<string, readonly [of: string, v: string]>> = {
    string: ['a', 'a'],
    entityId: ['a', 'a'],
    number: ['1', '1'],
    datetime: ['2024-05-01', '2024-05-01'],
    boolean: ['', 'true'],
  }
  for (const [type, own] of Object.entries(operators) as [ConstraintType, readonly string[]][]) {
    const [of, v] = holding[type]!
    for (const operator of own) {
      const value = operator.endsWith('oneof') ? (type === 'number' ? '[1]' : '["a"]') : of
      const { holds } = compileConstraint({ id: 'c', type, property: 'p', operator, value })!
      t.ok(
        [v, '', 'b', '0', '2', 'false', '2000-01-01', '2100-01-01'].some((each) => holds(each)),
        `${type} ${operator}`,
      )
    }
  }
})

await t.test('operators are accepted in upper and lower case, and stored in lower case', async (t) => {
  t.same(check('string', 'IsOneOf', '["a"]'), valid('isoneof', '["a"]'))
  t.same(check('boolean', 'TRUE', 'ignored'), valid('true', ''))
  t.same(check('string', 'Bigger', 'a'), refused('constraint operator "Bigger" is not valid for type string'))
})

await t.test('a constraint needs property and operator, and a value unless its operator has none', async (t) => {
  t.same(check('string', 'eq', 'a', ''), field('property', 'must not be empty'))
  t.same(check('string', '', 'a'), field('operator', 'must not be empty'))
  t.same(check('string', 'eq', ''), field('value', 'must not be empty'))
  t.same(check('unknown', 'eq', 'a'), refused('invalid constraint type: "UNKNOWN_COMPARISON_TYPE"'))
  t.same(check('entityId', 'eq', 'a', 'email'), refused('property is email instead of "entityId"'))
})

await t.test('a constraint value of more than 65,536 bytes is refused', async (t) => {
  const long = field('value', 'must be at most 65536 bytes')
  t.same(check('string', 'eq', 'a'.repeat(65_536)), valid('eq', 'a'.repeat(65_536)))
  t.same(check('string', 'eq', 'a'.repeat(65_537)), long)
  t.same(check('string', 'eq', 'é'.repeat(32_769)), long)
})

await t.test('a list value is a JSON list of at most 100 items of the right type', async (t) => {
  for (const type of ['string', 'number', 'entityId'] as const) {
    const property = type === 'entityId' ? 'entityId' : 'p'
    const item = type === 'number' ? 1 : 'a'
    const wrong = refused(`invalid value provided for property "${property}" of type ${type}`)
    for (const value of ['null', '[]', '[null]', JSON.stringify([item, null]), ` [ ${JSON.stringify(item)} ] `]) {
      t.same(check(type, 'isoneof', value), valid('isoneof', value), `${type} ${value}`)
    }
    const other = type === 'number' ? '["1"]' : '[1]'
    for (const value of ['a', '{}', '"a"', '1', '[', other, '[true]', '[[]]', `[${JSON.stringify(item)},true]`])
      t.same(check(type, 'isnotoneof', value), wrong, `${type} ${value}`)
    const items = (count: number) => JSON.stringify(Array.from({ length: count }, () => item))
    t.same(check(type, 'isoneof', items(100)), valid('isoneof', items(100)))
    t.same(
      check(type, 'isoneof', items(101)),
      refused(`too many values provided for property "${property}" of type ${type} (maximum 100)`),
    )
  }
  t.same(check('number', 'isoneof', '[1e400]'), refused('invalid value provided for property "p" of type number'))
})

await t.test('a date with time is stored in UTC with whole seconds, and a date unchanged', async (t) => {
  const stored: Readonly<Record<string, string>> = {
    '2024-05-01': '2024-05-01',
    '2024-05-01T1:02:03Z': '2024-05-01T01:02:03Z',
    '2024-05-01T00:00:00.999999999+02:00': '2024-04-30T22:00:00Z',
    '1969-12-31T23:59:59.5Z': '1969-12-31T23:59:59Z',
    '0000-01-01T00:00:00Z': '0000-01-01T00:00:00Z',
  }
  for (const [given, value] of Object.entries(stored)) t.same(check('datetime', 'eq', given), valid('eq', value), given)
  for (const value of [
    'soon',
    '2024-02-30',
    '2024-13-01',
    '2024-01-01t00:00:00Z',
    '2024-01-01T24:00:00Z',
    '2024-05-01T00:00:00+0200',
    '9999-12-31T23:59:59-00:01',
    '0000-01-01T00:00:00+00:01',
  ]) {
    t.same(check('datetime', 'eq', value), refused(`parsing datetime from "${value}"`), value)
  }
})

await t.test('a number to compare with is stored unchanged, even if it is invalid', async (t) => {
  for (const value of ['1', 'one', ' 1']) t.same(check('number', 'lt', value), valid('lt', value))
})

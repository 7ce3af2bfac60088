import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import t from 'tap'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { canonical } from '../../src/base/canonical.ts'
import { catalog } from '../../src/events/catalog.ts'
import { reader, type Shape, type Shapes, typeName, v1, wireName, wireNames } from '../../src/events/define.ts'
import { root } from '../root.ts'

/**
 * The bytes of every event shape ever written. A file is never changed or removed. An optional field that a shape gained
 * later has a further sample: `<wire name>+<field>.json`.
 */
const folder = resolve(root, 'test/events/samples')
const sample = (name: string) => readFileSync(resolve(folder, `${name}.json`), 'utf8').trimEnd()
const all = readdirSync(folder)
  .map((file) => file.replace(/\.json$/, ''))
  .sort()
const samplesOf = (wire: string) => all.filter((name) => name.split('+', 1)[0] === wire)
const categories: [string, Shapes][] = Object.entries(catalog)

const namesOf = (type: string, newest: Shape): string[] => {
  const names: string[] = []
  for (let shape: Shape | undefined = newest; shape; shape = shape.from) names.push(...wireNames(type, shape))
  return names
}

await t.test('every stored event name has a sample that never changes, and no sample is left over', async (t) => {
  const names = categories.flatMap(([, shapes]) =>
    Object.entries(shapes).flatMap(([type, shape]) => namesOf(type, shape)),
  )
  t.strictSame(
    all.filter((name) => !name.includes('+')),
    [...names].sort(),
  )
  t.strictSame(
    all.filter((name) => !names.includes(name.split('+', 1)[0]!)),
    [],
  )
  t.equal(new Set(names).size, names.length, 'no two categories share a name')
})

await t.test('every sample event can be read as the newest shape', async (t) => {
  for (const [category, shapes] of categories) {
    const read = reader(shapes)
    for (const [type, newest] of Object.entries(shapes)) {
      for (const wire of namesOf(type, newest)) {
        for (const name of samplesOf(wire)) {
          const event = read(wire, sample(name))
          t.equal(event.type, type, `${category}: ${name}`)
          t.ok(Value.Check(newest.schema, event.data), `${name} has the newest shape`)
        }
      }
    }
  }
})

type Form = { readonly anyOf?: readonly Form[]; readonly items?: Form; readonly properties?: object }
/** Names `a` and `a.b` of the members of an object, at any depth. */
const namesIn = (members: object, inside: (member: never) => string[]): string[] =>
  Object.entries(members).flatMap(([name, member]) => [
    name,
    ...inside(member as never).map((inner) => `${name}.${inner}`),
  ])
const inSchema = ({ anyOf = [], items, properties = {} }: Form): string[] => [
  ...[...anyOf, ...(items ? [items] : [])].flatMap(inSchema),
  ...namesIn(properties, inSchema),
]
const inValue = (value: unknown): string[] => {
  if (Array.isArray(value)) return value.flatMap(inValue)
  return typeof value === 'object' && value !== null ? namesIn(value, inValue) : []
}
/** Fields in the data of an event that no sample has. The list may only become shorter. */
const UNSHOWN: Readonly<Record<string, readonly string[]>> = {
  TokenGrantsNarrowed: ['to.grants.rights'],
  FlagUpdated: ['defaultVariantId.from'],
  RolloutAdded: ['rollout.segments', 'rollout.operator'],
  RolloutUpdated: ['rollout.percentage'],
  AccessConfigured: ['rules.grants.rights', 'rules.grants.rule', 'unmatched.rights', 'unmatched.rule'],
}

await t.test('every sample event contains all fields of its shape', async (t) => {
  for (const [, shapes] of categories) {
    for (const [type, { version, schema }] of Object.entries(shapes)) {
      const shown = new Set(samplesOf(wireName(type, version)).flatMap((name) => inValue(JSON.parse(sample(name)))))
      const top = [...shown].filter((name) => !name.includes('.'))
      t.strictSame(top.sort(), Object.keys(schema.properties).sort(), type)
      const missing = inSchema(schema as Form).filter((name) => !shown.has(name))
      const without = missing.filter((name) => !missing.some((outer) => name.startsWith(`${outer}.`)))
      t.strictSame(without.sort(), [...(UNSHOWN[type] ?? [])].sort(), `${type}: fields that no sample has`)
    }
  }
})

await t.test('sample events are canonical JSON', async (t) => {
  for (const name of all) {
    const text = sample(name)
    t.equal(canonical(JSON.parse(text)), text, name)
  }
})

await t.test('an earlier version can read a sample event with a field that was added later', async (t) => {
  const later = all.filter((name) => name.includes('+'))
  t.ok(later.length >= 2)
  for (const name of later) {
    const [wire, field] = name.split('+') as [string, string]
    const type = typeName(wire)
    const newest = categories.map(([, shapes]) => shapes[type]).find((shape) => shape !== undefined)
    for (let shape = newest; shape; shape = shape.from) {
      if (wireName(type, shape.version) !== wire) continue
      const earlier = Type.Omit(shape.schema, [field])
      t.notOk(Object.hasOwn(earlier.properties, field))
      const event = reader({ [type]: { ...v1(earlier, shape.format), version: shape.version } })(wire, sample(name))
      t.strictSame(event.data, JSON.parse(sample(name)), name)
    }
  }
})

await t.test('reading an event of an unknown type is an error', async (t) => {
  t.throws(() => reader(catalog.flag)('FlagPainted', '{}'), {
    message: 'event FlagPainted was written by a newer version of rollcall',
  })
})

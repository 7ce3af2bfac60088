import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import t from 'tap'
import { Value } from 'typebox/value'
import { canonical } from '../../src/events/canonical.ts'
import { catalog } from '../../src/events/catalog.ts'
import { reader, type Shape, type Shapes, wireName, wireNames } from '../../src/events/define.ts'

/** The bytes of every event shape ever written. A file is never changed or removed. */
const folder = resolve(import.meta.dirname, '../../../test/events/samples')
const sample = (wire: string) => readFileSync(resolve(folder, `${wire}.json`), 'utf8').trimEnd()
const categories: [string, Shapes][] = Object.entries(catalog)

const namesOf = (type: string, newest: Shape): string[] => {
  const names: string[] = []
  for (let shape: Shape | undefined = newest; shape; shape = shape.from) names.push(...wireNames(type, shape))
  return names
}

await t.test('every wire name has a frozen sample, and every sample has a wire name', async (t) => {
  const names = categories.flatMap(([, shapes]) =>
    Object.entries(shapes).flatMap(([type, shape]) => namesOf(type, shape)),
  )
  t.strictSame(readdirSync(folder).sort(), names.map((name) => `${name}.json`).sort())
  t.equal(new Set(names).size, names.length, 'no two categories share a name')
})

await t.test('every sample is readable as the newest shape', async (t) => {
  for (const [category, shapes] of categories) {
    const read = reader(shapes)
    for (const [type, newest] of Object.entries(shapes)) {
      for (const wire of namesOf(type, newest)) {
        const event = read(wire, sample(wire))
        t.equal(event.type, type, `${category}: ${wire}`)
        t.ok(Value.Check(newest.schema, event.data), `${wire} has the newest shape`)
      }
    }
  }
})

await t.test('every sample contains all fields of its shape', async (t) => {
  for (const [, shapes] of categories) {
    for (const [type, { version, schema }] of Object.entries(shapes)) {
      const shown = Object.keys(JSON.parse(sample(wireName(type, version))) as object)
      t.strictSame(shown.sort(), Object.keys(schema.properties).sort(), type)
    }
  }
})

await t.test('samples are canonical JSON', async (t) => {
  for (const file of readdirSync(folder)) {
    const text = sample(file.replace('.json', ''))
    t.equal(canonical(JSON.parse(text)), text, file)
  }
})

await t.test('throws on an event of an unknown type', async (t) => {
  t.throws(() => reader(catalog.flag)('FlagPainted', '{}'), {
    message: 'event FlagPainted was written by a newer version of rollcall',
  })
})

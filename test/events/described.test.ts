import t from 'tap'
import type { TObject } from 'typebox'
import { fieldsOf, sentenceOf } from '../../docs/make-events.ts'
import { catalog } from '../../src/events/catalog.ts'
import { type Shapes, v1 } from '../../src/events/define.ts'
import { metaSchema } from '../../src/events/meta.ts'

const schemas: readonly (readonly [string, TObject])[] = [
  ['meta', metaSchema],
  ...Object.values<Shapes>(catalog).flatMap((shapes) =>
    Object.entries(shapes).map(([type, { schema }]) => [type, schema] as const),
  ),
]
const sentence = /^[A-Z`].*[.?]$/

await t.test('every event has a description', async (t) => {
  for (const [type, schema] of schemas) t.match(sentenceOf(schema) ?? '', sentence, type)
})

await t.test('every event field has a description, a unit and a privacy class', async (t) => {
  let fields = 0
  for (const [type, schema] of schemas) {
    for (const { path, parts, description, unit, personal, type: is } of fieldsOf(schema)) {
      fields++
      const name = `${type}.${path}`
      if (!sentence.test(description ?? '')) t.fail(`${name} has no description`)
      if (parts) continue
      if (personal === undefined) t.fail(`${name} does not say what it tells of people`)
      const plain = /boolean|"$/.test(is)
      if (!plain && !unit) t.fail(`${name} has no unit`)
    }
  }
  t.ok(fields > 200, `${fields} fields read`)
})

await t.test('encrypted fields are at the top level, and the fields that name their owner exist', async (t) => {
  for (const [type, schema] of schemas) {
    const sealed = fieldsOf(schema).filter(({ personal }) => typeof personal === 'object')
    t.strictSame(
      sealed.map(({ path }) => path),
      [...v1(schema).sealed.keys()],
      type,
    )
    for (const subject of v1(schema).sealed.values()) t.ok(subject in schema.properties, `${type}.${subject}`)
  }
})

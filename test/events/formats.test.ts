import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import t from 'tap'
import { catalog, FORMAT } from '../../src/events/catalog.ts'
import { type Shape, type Shapes, wireNames } from '../../src/events/define.ts'
import { root } from '../root.ts'

/**
 * Wire names by format of the history. Only the last format can change, because a name never moves to another format.
 */
const released = JSON.parse(readFileSync(resolve(root, 'test/events/formats.json'), 'utf8')) as Readonly<
  Record<string, readonly string[]>
>

const stated = new Map<string, number>()
for (const shapes of Object.values<Shapes>(catalog)) {
  for (const [type, newest] of Object.entries(shapes)) {
    for (let shape: Shape | undefined = newest; shape; shape = shape.from)
      for (const name of wireNames(type, shape)) stated.set(name, shape.format)
  }
}

await t.test('an event shape keeps the number of the format in which it was introduced', (t) => {
  const listed = new Map(
    Object.entries(released).flatMap(([format, names]) => names.map((name) => [name, Number(format)] as const)),
  )
  for (const [name, format] of stated)
    t.equal(
      listed.get(name),
      format,
      `${name}: its format is one more than the last release's, and formats.json lists it there; 1 only where nothing is folded of it`,
    )
  for (const name of listed.keys()) t.ok(stated.has(name), `${name} is read for ever`)
  t.equal(FORMAT, Math.max(...stated.values()))
  t.end()
})

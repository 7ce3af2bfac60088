import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { root } from './root.ts'
import { CEILINGS } from './sizes.ts'

const linesOf = (file: string): number => readFileSync(file, 'utf8').split('\n').length - 1

const isCode = (name: string): boolean => /\.tsx?$/.test(name)

/** Lines of the TypeScript files below a folder of the tree. */
const linesBelow = (folder: string): number =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter(isCode)
    .reduce((sum, name) => sum + linesOf(join(root, folder, name)), 0)

await t.test('each room of the source has a ceiling', (t) => {
  const rooms = readdirSync(join(root, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory())
  t.strictSame(Object.keys(CEILINGS), [...rooms.map(({ name }) => `src/${name}`).toSorted(), 'ui/src', 'test'])
  t.end()
})

await t.test('no room has more lines than its ceiling', (t) => {
  for (const [room, ceiling] of Object.entries(CEILINGS)) {
    const lines = linesBelow(room)
    t.ok(lines <= ceiling, `${room}: ${lines} lines, at most ${ceiling}`)
    // A ceiling far above its room would allow growth that no commit names.
    t.ok(lines > ceiling - 300, `${room}: ${lines} lines, so lower the ceiling of ${ceiling}`)
  }
  t.end()
})

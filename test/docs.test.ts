import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import t from 'tap'
import { made } from '../docs/make.ts'

const root = resolve(import.meta.dirname, '../..')

for (const [path, text] of Object.entries(made)) {
  await t.test(`${path} is what docs/make.ts makes`, async (t) => {
    t.equal(readFileSync(resolve(root, path), 'utf8'), text(), 'npm run docs writes it again')
  })
}

import { mkdirSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { exampleFile } from '../src/config/describe.ts'
import { configHandbook } from '../src/config/docs.ts'
import { root } from '../test/root.ts'
import { errorsPage, loginCausesPage } from './make-errors.ts'
import { eventsPage } from './make-events.ts'
import { asyncApiFile, schemaFiles } from './make-schemas.ts'

/** Generated files of the tree, by path. `npm run docs` writes them, and test/docs.test.ts compares them. */
export const made: Readonly<Record<string, () => string>> = {
  'rollcall.example.yml': exampleFile,
  'docs/config.md': configHandbook,
  'docs/errors.md': errorsPage,
  'docs/events.md': eventsPage,
  'docs/login-causes.md': loginCausesPage,
  'docs/asyncapi.json': asyncApiFile,
  ...schemaFiles,
}

if (process.argv[1] === import.meta.filename) {
  mkdirSync(resolve(root, 'docs/schemas'), { recursive: true })
  for (const [path, text] of Object.entries(made)) writeFileSync(resolve(root, path), text())
}

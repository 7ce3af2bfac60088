import { resolve } from 'node:path'

/** Folder of the project, for test files that run from `test` and from `dist/test`. */
export const root = resolve(import.meta.dirname, import.meta.filename.endsWith('.ts') ? '..' : '../..')

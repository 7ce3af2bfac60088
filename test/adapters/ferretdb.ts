import { execFile } from 'node:child_process'
import { copyFile, cp, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { builtProgram } from '../stand-ins/built-program.ts'

/** Timeout of a build, sufficient for most first builds. Go caches partial results for the next attempt. */
const BUILD_MS = 160_000
const run = promisify(execFile)
const root = resolve(import.meta.dirname, '../../..')

/**
 * Patches of FerretDB, which reads a whole collection to find a document by id: its query does not match its index, and
 * it uses the index only for queries by id alone. MongoDB does not do that.
 */
const LOOK_UP = [
  { file: 'internal/backends/sqlite/metadata/metadata.go', its: `"->'$._id'"`, ours: '`->"_id"`' },
  {
    file: 'internal/backends/sqlite/collection.go',
    its: 'if params.Filter.Len() == 1 {',
    ours: 'if params.Filter.Len() >= 1 {',
  },
]

/** Creates a go.mod that replaces FerretDB with a patched copy, which looks up documents by index as MongoDB does. */
const mended = async (source: string, folder: string, timeout: number): Promise<string> => {
  const download = ['mod', 'download', '-json', 'github.com/FerretDB/FerretDB']
  const { stdout } = await run('go', download, { cwd: source, timeout })
  const copy = join(folder, 'FerretDB')
  await cp((JSON.parse(stdout) as { readonly Dir: string }).Dir, copy, { recursive: true })
  // Go stores modules as read-only files and directories.
  await run('chmod', ['-R', 'u+w', copy])
  for (const { file, its, ours } of LOOK_UP) {
    const text = await readFile(join(copy, file), 'utf8')
    if (!text.includes(its)) throw new Error(`${file} of FerretDB is not what it was`)
    await writeFile(join(copy, file), text.replaceAll(its, ours))
  }
  const mod = join(folder, 'go.mod')
  const given = await readFile(join(source, 'go.mod'), 'utf8')
  await writeFile(mod, `${given}\nreplace github.com/FerretDB/FerretDB => ${copy}\n`)
  await copyFile(join(source, 'go.sum'), join(folder, 'go.sum'))
  return mod
}

/** Path of the stand-in for MongoDB, built once and kept outside the tree. */
export const ferretdb = async (limitMs = BUILD_MS): Promise<string> => {
  const source = join(root, 'test/stand-ins/ferretdb')
  const pinned = await Promise.all(['go.mod', 'main.go'].map((file) => readFile(join(source, file))))
  return builtProgram('ferretdb', [...pinned, JSON.stringify(LOOK_UP)], async (making) => {
    const fresh = join(making, 'ferretdb')
    const modfile = await mended(source, making, limitMs)
    await run('go', ['build', '-modfile', modfile, '-o', fresh, '.'], { cwd: source, timeout: limitMs })
    return fresh
  })
}

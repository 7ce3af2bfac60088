import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFile, cp, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'

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
  const folder = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'rollcall-tests')
  const source = join(root, 'test/stand-ins/ferretdb')
  const version = createHash('sha256')
  for (const file of ['go.mod', 'main.go']) version.update(await readFile(join(source, file)))
  version.update(JSON.stringify(LOOK_UP))
  const binary = join(folder, `ferretdb-${version.digest('hex').slice(0, 12)}`)
  const built = await stat(binary).then(
    () => true,
    () => false,
  )
  if (built) return binary
  await mkdir(folder, { recursive: true })
  const making = await mkdtemp(join(folder, 'making-'))
  try {
    const fresh = join(making, 'ferretdb')
    const modfile = await mended(source, making, limitMs)
    await run('go', ['build', '-modfile', modfile, '-o', fresh, '.'], { cwd: source, timeout: limitMs })
    await rename(fresh, binary)
  } finally {
    await rm(making, { recursive: true })
  }
  return binary
}

type CommandFailure = {
  readonly cmd?: string
  readonly code?: unknown
  readonly stdout?: string
  readonly stderr?: string
}

/** The failed command and the first line of its error; `go mod download -json` reports errors as JSON. */
export const failureOf = (error: unknown): string => {
  const { cmd, code, stdout = '', stderr = '' } = error as CommandFailure
  if (code === 'ENOENT') return 'there is no go on the path'
  if (cmd === undefined) return String(error).split('\n', 1)[0]!
  const said = /"Error": "(.*)"/.exec(stdout)?.[1] ?? stderr.trim()
  return `${cmd} failed: ${said.split(/\n|\\n/, 1)[0]}`
}

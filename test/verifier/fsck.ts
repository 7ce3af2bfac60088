import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { builtProgram } from '../stand-ins/built-program.ts'

/** Timeout of a build in ms. Most of a first build is the standard library, which other builds share. */
const BUILD_MS = 160_000
const PACKAGE = 'github.com/transparency-dev/tessera/cmd/fsck'
const run = promisify(execFile)
const source = resolve(import.meta.dirname, '../../../test/verifier/fsck')

/** Path of `fsck` of the tessera project, unmodified, built once and kept outside the tree. */
export const fsck = async (limitMs = BUILD_MS): Promise<string> => {
  const pinned = await Promise.all(['go.mod', 'go.sum'].map((file) => readFile(join(source, file))))
  return builtProgram('fsck', pinned, async (making) => {
    const fresh = join(making, 'fsck')
    await run('go', ['mod', 'download'], { cwd: source, timeout: limitMs })
    await run('go', ['build', '-o', fresh, PACKAGE], { cwd: source, timeout: limitMs })
    return fresh
  })
}

import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'

type CommandFailure = {
  readonly cmd?: string
  readonly code?: unknown
  /** True if the command was killed at its time limit. */
  readonly killed?: boolean
  readonly stdout?: string
  readonly stderr?: string
}

/**
 * The failed command of a build with Go and the first line of its error; `go mod download -json` reports errors as
 * JSON. Without Go: the Debian package of Go.
 */
export const failureOf = (error: unknown): string => {
  const { cmd, code, killed = false, stdout = '', stderr = '' } = error as CommandFailure
  if (code === 'ENOENT') return 'there is no go on the path (Debian: apt-get install golang)'
  if (cmd === undefined) return String(error).split('\n', 1)[0]!
  const said = /"Error": "(.*)"/.exec(stdout)?.[1] ?? stderr.trim()
  if (said === '')
    return `${cmd} ${killed ? 'did not end within its time limit' : `failed with exit code ${String(code)}`}`
  return `${cmd} failed: ${said.split(/\n|\\n/, 1)[0]}`
}

/**
 * Path of a program that is built once and kept outside the tree. `pins`: texts on which the program depends. `build`
 * makes the program in a new folder and returns its path.
 */
export const builtProgram = async (
  name: string,
  pins: readonly (string | Uint8Array)[],
  build: (folder: string) => Promise<string>,
): Promise<string> => {
  const folder = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'rollcall-tests')
  const version = createHash('sha256')
  for (const pin of pins) version.update(pin)
  const binary = join(folder, `${name}-${version.digest('hex').slice(0, 12)}`)
  const built = await stat(binary).then(
    () => true,
    () => false,
  )
  if (built) return binary
  await mkdir(folder, { recursive: true })
  const making = await mkdtemp(join(folder, 'making-'))
  try {
    await rename(await build(making), binary)
  } finally {
    await rm(making, { recursive: true })
  }
  return binary
}

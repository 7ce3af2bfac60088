import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'

const execute = promisify(execFile)
const root = resolve(import.meta.dirname, '../../..')

/** Cache of fetched and built programs. */
export const cache =
  process.env['ROLLCALL_TEST_REAL_CACHE'] ??
  join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'rollcall-tests-real')

type Source = {
  /** Folder under `test/real` with the files that pin the versions. */
  readonly folder: string
  /** Module or Maven artifact with the version. */
  readonly from: string
  /** Package that Go builds; without it Maven unpacks the program. */
  readonly package?: string
  /** Whether it uses SQLite, for which Go needs a C compiler. */
  readonly sqlite?: boolean
}
/** Programs of the suite in fetch order. */
const SOURCES = {
  keycloak: { folder: 'keycloak', from: 'keycloak-quarkus-dist' },
  etcd: { folder: 'etcd', from: 'go.etcd.io/etcd/server/v3', package: 'go.etcd.io/etcd/server/v3' },
  helm: { folder: 'helm', from: 'helm.sh/helm/v3', package: 'helm.sh/helm/v3/cmd/helm' },
  hydra: { folder: 'hydra', from: 'github.com/ory/hydra/v2', package: 'github.com/ory/hydra/v2', sqlite: true },
  'kube-apiserver': {
    folder: 'kubernetes',
    from: 'k8s.io/kubernetes',
    package: 'k8s.io/kubernetes/cmd/kube-apiserver',
  },
  'kube-controller-manager': {
    folder: 'kubernetes',
    from: 'k8s.io/kubernetes',
    package: 'k8s.io/kubernetes/cmd/kube-controller-manager',
  },
} as const satisfies Readonly<Record<string, Source>>
export type Program = keyof typeof SOURCES
export const programs = Object.keys(SOURCES) as readonly Program[]

/** Content of the files that pin the versions of a program. */
const pinsOf = ({ folder }: Source): string =>
  ['go.mod', 'go.sum', 'pom.xml']
    .map((name) => join(root, 'test/real', folder, name))
    .flatMap((file) => (existsSync(file) ? [readFileSync(file, 'utf8')] : []))
    .join('')
/** Pinned version of a program. */
export const versionOf = (program: Program): string => {
  const { from } = SOURCES[program]
  const line = new RegExp(`\\b${from.replaceAll('.', '\\.')}(?: v|</artifactId>\\s*<version>)([\\d.]+)`)
  return line.exec(pinsOf(SOURCES[program]))?.[1] ?? 'of no version'
}

/** Path of a program, which depends on its pinned versions. */
const placeOf = (program: Program): string => {
  const digest = createHash('sha256').update(pinsOf(SOURCES[program])).digest('hex')
  return join(cache, `${program}-${versionOf(program)}-${digest.slice(0, 12)}`)
}
const reasonFile = (program: Program) => `${placeOf(program)}.failed`

export type Found = { readonly path: string; readonly skip: false } | { readonly path: ''; readonly skip: string }
/** Path of a program, or the reason why it is missing with the failed command. */
export const found = (program: Program): Found => {
  const path = placeOf(program)
  if (existsSync(path)) return { path, skip: false }
  const why = existsSync(reasonFile(program))
    ? readFileSync(reasonFile(program), 'utf8')
    : 'it was not fetched yet: npm run test:real does'
  return { path: '', skip: `no ${program}: ${why}` }
}
/** Reason to skip tests that need all of these programs; false if all are available. */
export const missing = (...wanted: readonly Program[]): string | false =>
  wanted.map((program) => found(program).skip).find((skip) => skip !== false) ?? false

/** Runs a command with low priority, reports it in one line, and ends it after `minutes`. */
export const run = async (minutes: number, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}) => {
  console.log(`${args.join(' ')} (at most ${minutes} min)`)
  const bounded = ['--foreground', '--kill-after=10s', `${minutes}m`, 'nice', '-n', '10', ...args]
  await execute('timeout', bounded, { cwd, env: { ...process.env, ...env }, maxBuffer: 16_777_216 })
}
/** Exit code of `timeout` after the time is over. */
const ENDED = 124

const AUGMENTED = ['build', '--db=dev-mem', '--health-enabled=true']

const build = async (program: Program, into: string): Promise<string> => {
  const { folder, package: name, sqlite = false }: Source = SOURCES[program]
  const cwd = join(root, 'test/real', folder)
  if (name !== undefined) {
    const flags = ['-trimpath', '-buildvcs=false', '-ldflags=-s -w', ...(sqlite ? ['-tags=sqlite'] : [])]
    // At most two compilers at a time.
    const env = { CGO_ENABLED: sqlite ? '1' : '0', GOFLAGS: `${process.env['GOFLAGS'] ?? ''} -p=2`.trim() }
    await run(60, ['go', 'build', ...flags, '-o', join(into, program), name], cwd, env)
    return join(into, program)
  }
  const unpack = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:unpack-dependencies'
  await run(10, ['mvn', '-B', '-q', unpack, `-DoutputDirectory=${into}`, `-DmarkersDirectory=${into}/markers`], cwd)
  const unpacked = (await readdir(into)).find((each) => each.startsWith('keycloak-'))
  if (unpacked === undefined) throw new Error(`mvn ${unpack} left no folder keycloak-…`)
  // Otherwise each start would do this for half a minute.
  await run(5, ['sh', join(into, unpacked, 'bin/kc.sh'), ...AUGMENTED], cwd)
  return join(into, unpacked)
}

type Failure = Partial<Readonly<Record<'cmd' | 'stdout' | 'stderr', string> & { code: unknown }>>
/** Failed command with the last line of its output. */
export const failureOf = (error: unknown): string => {
  const { cmd, code, stdout, stderr } = error as Failure
  const said = `${stdout ?? ''}\n${stderr ?? ''}`.trim().split('\n').at(-1)
  if (cmd === undefined) return String(error)
  return `${cmd.replace(/^.* nice -n 10 /, '')} ${code === ENDED ? 'took too long' : `failed (${String(code)})`}: ${said}`
}

/** Fetches or builds a missing program. A failure is stored too, for the tests to report. */
export const fetched = async (program: Program): Promise<Found> => {
  const before = found(program)
  if (before.skip === false) return before
  await mkdir(cache, { recursive: true })
  const making = await mkdtemp(join(cache, 'making-'))
  try {
    await rename(await build(program, making), placeOf(program))
    await rm(reasonFile(program), { force: true })
  } catch (error) {
    await writeFile(reasonFile(program), failureOf(error))
  } finally {
    await rm(making, { recursive: true, force: true })
  }
  return found(program)
}

import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { median, progress, type Row, row, seconds, told } from './measure.ts'

const execute = promisify(execFile)
const root = resolve(import.meta.dirname, '../..')
const INSTALLS = 3
const BUILDS = 3
/** What is installed for the web UI and its tests alone. */
const packages = [
  '@base-ui/react',
  '@primer/octicons-react',
  '@tanstack/react-query',
  '@tanstack/react-router',
  '@types/react',
  '@types/react-dom',
  'axe-core',
  'playwright-core',
  'react',
  'react-dom',
  'vite',
]
const installs = '`npm ci` / the same without the packages of the web UI, packages in the cache'

const npm = (directory: string, ...args: readonly string[]) =>
  execute('npm', [...args, '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'], { cwd: directory })

/** A folder with the lists of packages, of all or of those of the service alone. */
const folderOf = async (parent: string, name: string, without: readonly string[]): Promise<string> => {
  const folder = join(parent, name)
  await mkdir(folder)
  for (const file of ['package.json', 'package-lock.json']) await copyFile(join(root, file), join(folder, file))
  if (without.length > 0) await npm(folder, 'uninstall', '--package-lock-only', ...without)
  return folder
}

const installed = async (): Promise<Row> => {
  progress('W3: npm ci with and without the packages of the web UI')
  const parent = await mkdtemp(join(tmpdir(), 'rollcall-install-'))
  try {
    const [all, less] = [await folderOf(parent, 'all', []), await folderOf(parent, 'less', packages)]
    const [one, other]: [number[], number[]] = [[], []]
    // What the first fetches the others find in the cache.
    for (let round = -1; round < INSTALLS; round++) {
      const times = [await seconds(() => npm(all, 'ci')), await seconds(() => npm(less, 'ci'))] as const
      if (round < 0) continue
      one.push(times[0])
      other.push(times[1])
    }
    const [whole, part] = [median(one), median(other)]
    const note = `${whole.toFixed(1)} s against ${part.toFixed(1)} s`
    return row('W3', installs, whole / part, { atMost: 1.3 }, '', note)
  } catch (error) {
    return told('W3', installs, 'skipped', `npm cannot install here: ${String(error).split('\n')[0]}`)
  } finally {
    await rm(parent, { recursive: true, force: true })
  }
}

const built = async (): Promise<Row> => {
  progress('W4: build of the web UI')
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-ui-'))
  const tool = (...args: readonly string[]) =>
    execute(join(root, 'node_modules/.bin', args[0]!), args.slice(1), { cwd: root })
  const times: number[] = []
  for (let round = 0; round < BUILDS; round++)
    times.push(
      await seconds(async () => {
        await tool('tsc', '-p', 'ui')
        await tool('vite', 'build', '--config', 'ui/vite.config.ts', '--logLevel', 'warn', '--outDir', folder)
      }),
    )
  await rm(folder, { recursive: true })
  const name = `types and build of the web UI on ${availableParallelism()} cores, the best of ${BUILDS}`
  return row('W4', name, Math.min(...times), { atMost: 20 }, ' s')
}

/** W3, W4: what the web UI adds to an installation from the sources. */
export const run = async (): Promise<readonly Row[]> => [await installed(), await built()]

import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { cp, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { cache, type Found, failureOf, run } from './programs.ts'

const root = resolve(import.meta.dirname, '../../..')
const PINS = {
  js: ['javascript', 'package.json'],
  python: ['python', 'requirements.txt'],
  java: ['java', 'pom.xml'],
  rust: ['rust', 'Cargo.toml'],
} as const
export type Language = keyof typeof PINS
export const languages = Object.keys(PINS) as readonly Language[]

/** Folder of the installed packages of a language, which depends on their pinned versions. */
const placeOf = (language: Language): string => {
  const text = readFileSync(join(root, 'test/real/clients', ...PINS[language]))
  return join(cache, `clients-${language}-${createHash('sha256').update(text).digest('hex').slice(0, 12)}`)
}
const reasonFile = (language: Language) => `${placeOf(language)}.failed`

/** Folder with the packages of a language, or the reason why they are missing. */
export const packagesOf = (language: Language): Found => {
  const path = placeOf(language)
  if (existsSync(path)) return { path, skip: false }
  const why = existsSync(reasonFile(language))
    ? readFileSync(reasonFile(language), 'utf8')
    : 'they were not installed yet: npm run test:real does'
  return { path: '', skip: `no client packages for ${language}: ${why}` }
}

type Installer = (cwd: string) => Promise<unknown>
const command =
  (...args: readonly string[]): Installer =>
  (cwd) =>
    run(10, args, cwd)
/** A registry that does not answer fails within a minute. */
const PATIENCE = ['--retries', '1', '--timeout', '20']
const mvn = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies'
const installers: Readonly<Record<Language, readonly Installer[]>> = {
  js: [command('npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund', '--legacy-peer-deps')],
  python: [
    command('python3', '-m', 'venv', '--copies', 'packages'),
    command('packages/bin/python', '-m', 'pip', 'install', '-q', ...PATIENCE, '-r', 'requirements.txt'),
  ],
  java: [command('mvn', '-B', '-q', mvn, '-DoutputDirectory=jars')],
  rust: [
    (cwd) => mkdir(join(cwd, 'src')),
    (cwd) => writeFile(join(cwd, 'src/main.rs'), 'fn main() {}\n'),
    command('cargo', 'build', '-q', '-j', '2'),
  ],
}

/** Installs missing packages of a language. A failure is stored too, for the tests to report. */
export const installed = async (language: Language): Promise<Found> => {
  if (packagesOf(language).skip === false) return packagesOf(language)
  await mkdir(cache, { recursive: true })
  const making = await mkdtemp(join(cache, 'making-'))
  try {
    await cp(join(root, 'test/real/clients', PINS[language][0]), making, { recursive: true })
    for (const install of installers[language]) await install(making)
    await rename(making, placeOf(language))
    await rm(reasonFile(language), { force: true })
  } catch (error) {
    await writeFile(reasonFile(language), failureOf(error))
  } finally {
    await rm(making, { recursive: true, force: true })
  }
  return packagesOf(language)
}

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { subset } from 'semver'
import t from 'tap'
import { root } from './root.ts'

const read = (path: string): unknown => JSON.parse(readFileSync(resolve(root, path), 'utf8'))

type Package = {
  readonly version: string
  readonly license?: string
  readonly dev?: true
  readonly devOptional?: true
  readonly hasInstallScript?: true
  readonly dependencies?: Readonly<Record<string, string>>
  readonly engines?: { readonly node?: string }
}
const { packages } = read('package-lock.json') as { readonly packages: Readonly<Record<string, Package>> }
const installed = Object.entries(packages).flatMap(([path, entry]) =>
  path === '' ? [] : [{ path, name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length), ...entry }],
)

/** Licences allowed in shipped code together with Apache-2.0: docs/decisions/0014. */
const SHIPPED = [
  'MIT',
  'ISC',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  '0BSD',
  'BlueOak-1.0.0',
  'Unlicense',
  'PSF-2.0',
]
/** Additional licences of tools, which are not shipped. */
const TOOLS = [...SHIPPED, 'MPL-2.0', 'CC0-1.0', 'CC-BY-3.0', 'Zlib']
/** Tools that state their licence only in a file, with a pattern that identifies it. */
const IN_A_FILE: Readonly<Record<string, readonly [licence: string, file: string, words: RegExp]>> = {
  '@openfeature/ofrep-core': ['Apache-2.0', 'LICENSE', /Apache License\s+Version 2\.0/],
  '@openfeature/ofrep-provider': ['Apache-2.0', 'LICENSE', /Apache License\s+Version 2\.0/],
  'jsonc-simple-parser': ['MIT', 'license', /The MIT License/],
}

/** Whether all parts of an alternative of an SPDX expression are on a list. */
const isOf = (list: readonly string[], expression: string): boolean =>
  expression
    .replaceAll(/[()]/g, '')
    .split(' OR ')
    .some((one) => one.split(' AND ').every((part) => list.includes(part)))

const licenceOf = ({ path, name, license }: (typeof installed)[number]): string => {
  if (license !== undefined) return license
  const [licence, file, words] = IN_A_FILE[name] ?? ['none', 'package.json', /./]
  return words.test(readFileSync(resolve(root, path, file), 'utf8')) ? licence : 'none'
}

/** Packages in the bundle of the web UI, which are development dependencies. */
const ofBundle = (): ReadonlySet<string> => {
  const found = new Set<string>()
  const add = (name: string): void => {
    if (found.has(name)) return
    found.add(name)
    for (const needed of Object.keys(packages[`node_modules/${name}`]?.dependencies ?? {})) add(needed)
  }
  const sources = ['@base-ui/react', '@primer/octicons-react', '@tanstack/react-query', '@tanstack/react-router']
  for (const name of [...sources, 'react', 'react-dom']) add(name)
  return found
}

await t.test('every package has a licence that allows its use here', (t) => {
  const bundle = ofBundle()
  t.ok(bundle.size > 6)
  for (const one of installed) {
    const shipped = (!one.dev && !one.devOptional) || bundle.has(one.name)
    const licence = licenceOf(one)
    t.ok(isOf(shipped ? SHIPPED : TOOLS, licence), `${one.path}: ${licence}`)
  }
  const silent = installed.filter(({ license }) => license === undefined).map(({ name }) => name)
  t.strictSame(silent.toSorted(), Object.keys(IN_A_FILE))
  t.end()
})

await t.test('the packages with install scripts are exactly those that were reviewed', (t) => {
  const { allowScripts } = read('package.json') as { readonly allowScripts: Readonly<Record<string, boolean>> }
  const running = installed.filter(({ hasInstallScript }) => hasInstallScript)
  t.strictSame(running.map(({ name }) => name).toSorted(), Object.keys(allowScripts).toSorted())
  // Only SQLite may run its script, to build if there is no prebuilt binary.
  t.strictSame(
    Object.keys(allowScripts).filter((name) => allowScripts[name]),
    ['@photostructure/sqlite'],
  )
  const bundle = ofBundle()
  t.strictSame(
    running.filter(({ name }) => bundle.has(name)),
    [],
  )
  t.end()
})

await t.test('the versions of all packages are exact', (t) => {
  const { dependencies, devDependencies } = read('package.json') as Record<
    'dependencies' | 'devDependencies',
    Readonly<Record<string, string>>
  >
  for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies }))
    t.match(version, /^\d+\.\d+\.\d+(?:-[a-z\d.]+)?$/, name)
  t.end()
})

await t.test('every package supports each version of Node.js that this package supports', (t) => {
  const { node = '' } = packages['']!.engines!
  t.same((read('package.json') as Package).engines, { node })
  for (const { path, engines } of installed)
    if (engines?.node !== undefined && !subset(node, engines.node)) t.fail(`${path} needs Node.js ${engines.node}`)
  t.end()
})

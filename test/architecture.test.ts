import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, relative, resolve } from 'node:path'
import t from 'tap'
import { root } from './root.ts'

const src = resolve(root, 'src')

/**
 * Allowed imports inside src; folders form layers in order of time. `app` composes the service and may import all but
 * the command line, which loads it on demand.
 */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  base: [],
  events: [],
  evaluation: [],
  access: [],
  verifier: [],
  contract: ['access', 'verifier'],
  // The configuration refuses the same values as the API, with the same texts and the same token format.
  config: ['contract', 'auth', 'access', 'verifier'],
  // Email claims have one rule, for the login and for access.
  auth: ['access'],
  ledger: ['events', 'verifier'],
  commands: ['events', 'access'],
  projections: ['events', 'access'],
  'as-of': ['events', 'projections', 'access'],
  history: ['events', 'verifier', 'projections', 'as-of'],
  jobs: ['commands', 'events', 'projections'],
  http: [
    'access',
    'contract',
    'commands',
    'events',
    'verifier',
    'ledger',
    'projections',
    'evaluation',
    'auth',
    'as-of',
    'history',
  ],
  adapters: [],
  cli: ['access', 'contract', 'config', 'evaluation', 'history', 'ledger', 'verifier'],
  app: [
    'access',
    'events',
    'evaluation',
    'contract',
    'config',
    'auth',
    'verifier',
    'ledger',
    'commands',
    'projections',
    'as-of',
    'history',
    'jobs',
    'http',
    'adapters',
  ],
  '.': ['cli'],
}
/** Folders from which a folder may import types only. */
const mayName: Readonly<Record<string, readonly string[]>> = {
  projections: ['evaluation'],
  // The methods are listed where they are stored permanently.
  contract: ['events'],
  config: ['events'],
  auth: ['events'],
  // The jobs create the values that routes receive.
  http: ['jobs'],
  // A verb loads the application in its action, so that other verbs start fast.
  cli: ['app'],
}
/** Ports, the only files that adapters import. */
const ports = [
  'events/log.ts',
  'events/personal.ts',
  'events/unreadable.ts',
  'projections/views.ts',
  'jobs/queue.ts',
  'auth/rate-limit.ts',
  'ledger/ledger-store.ts',
  'ledger/ledger-store.ts',
]
/** Packages that each folder may use. */
const packages: Readonly<Record<string, readonly string[]>> = {
  events: ['typebox'],
  contract: ['typebox'],
  commands: ['lru-cache'],
  jobs: ['lru-cache'],
  projections: ['lru-cache'],
  ledger: ['lru-cache'],
  auth: ['openid-client', '@kubernetes/client-node', 'jose', 'lru-cache', 'undici'],
  http: ['fastify', '@fastify/cookie', '@fastify/cors', 'typebox', 'semver', 'lru-cache'],
  adapters: [
    '@photostructure/sqlite',
    '@eventstore/db-client',
    'mongodb',
    'bullmq',
    'ioredis',
    'lru-cache',
    '@opentelemetry/api',
    '@opentelemetry/context-async-hooks',
    '@opentelemetry/exporter-trace-otlp-proto',
    '@opentelemetry/resources',
    '@opentelemetry/sdk-trace-base',
  ],
  cli: ['commander', 'cli-progress', 'cli-table3', 'yaml', 'hyparquet', 'hyparquet-writer'],
  config: ['yaml', 're2js', 'tldts'],
  app: ['pino'],
}
const pure = ['access', 'events', 'evaluation', 'ledger', 'commands', 'projections']
const pureBuiltins = ['node:crypto', 'node:zlib']

const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
const folderOf = (file: string) => {
  const [first, ...rest] = relative(src, file).split('/')
  return rest.length > 0 ? first! : '.'
}
type Import = { readonly target: string; readonly typeOnly: boolean; readonly onDemand?: boolean }
const importsOf = (text: string): Import[] => [
  ...[...text.matchAll(/^(import|export)( type)?[^'"();]*?from '([^']+)'/gm)].map(([, , type, target]) => ({
    target: target!,
    typeOnly: type !== undefined,
  })),
  ...[...text.matchAll(/(load\(\(\) => )?\bimport\('([^']+)'\)/g)].map(([, load, target]) => ({
    target: target!,
    typeOnly: false,
    onDemand: load !== undefined,
  })),
  ...[...text.matchAll(/^import '([^']+)'/gm)].map(([, target]) => ({ target: target!, typeOnly: false })),
]

await t.test('every import follows the order of layers in docs/house.md', async (t) => {
  let checked = 0
  for (const name of files) {
    const file = resolve(src, name)
    const from = folderOf(file)
    for (const { target, typeOnly, onDemand } of importsOf(readFileSync(file, 'utf8'))) {
      checked++
      if (target.startsWith('node:')) {
        if (pure.includes(from) && !pureBuiltins.includes(target)) t.fail(`${name} is pure and imports ${target}`)
      } else if (!target.startsWith('.')) {
        const pkg = target
          .split('/')
          .slice(0, target.startsWith('@') ? 2 : 1)
          .join('/')
        if (!packages[from]?.includes(pkg)) t.fail(`${name} imports the package ${pkg}`)
      } else {
        const path = resolve(dirname(file), target)
        const [to, inside] = [folderOf(path), relative(src, path)]
        const allowed =
          from === to ||
          to === 'base' ||
          mayImport[from]?.includes(to) === true ||
          (typeOnly && mayName[from]?.includes(to) === true) ||
          (onDemand && from === 'cli' && to === 'app') ||
          (from === 'adapters' && ports.includes(inside))
        if (!allowed) t.fail(`${name} imports ${inside}`)
      }
    }
  }
  t.ok(checked > 50, `${checked} imports checked`)
})

await t.test('docs/house.md lists every folder of src with the folders that it may import', (t) => {
  const house = readFileSync(resolve(root, 'docs/house.md'), 'utf8')
  const rows = [...house.matchAll(/^\| `([\w-]+)\/` \|[^|]*\| ([^|]*) \|$/gm)].map(([, room, may]) => [room!, may!])
  const inWords: Readonly<Record<string, string>> = { app: 'all but cli', adapters: 'the ports alone' }
  const rooms = Object.entries(mayImport).filter(([room]) => room !== '.')
  const said = rooms.map(([room, may]) => [room, inWords[room] ?? (may.join(', ') || '–')])
  t.strictSame(rows.map(String).toSorted(), said.map(String).toSorted())
  t.end()
})

/** Imports by file of a folder. */
const arrowsIn = (folder: string): ReadonlyMap<string, readonly string[]> =>
  new Map(
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name))
      .map((name) => [
        name,
        importsOf(readFileSync(resolve(folder, name), 'utf8'))
          .filter(({ target }) => target.startsWith('.'))
          .map(({ target }) => relative(folder, resolve(folder, dirname(name), target))),
      ]),
  )
/** Imports by file. */
const arrows = arrowsIn(src)

for (const [folder, imports] of [
  ['src', arrows],
  ['ui/src', arrowsIn(resolve(root, 'ui/src'))],
] as const)
  await t.test(`no files of ${folder} import each other in a circle, not even types`, async (t) => {
    const done = new Set<string>()
    const walk = (name: string, way: readonly string[]): void => {
      const at = way.indexOf(name)
      if (at >= 0) return t.fail([...way.slice(at), name].join(' → ')) as unknown as void
      if (done.has(name)) return
      for (const next of imports.get(name) ?? []) if (imports.has(next)) walk(next, [...way, name])
      done.add(name)
    }
    for (const name of imports.keys()) walk(name, [])
    t.equal(done.size, imports.size)
  })

await t.test('every source file is reachable from main.ts', async (t) => {
  const reached = new Set<string>()
  const walk = (name: string): void => {
    if (reached.has(name)) return
    reached.add(name)
    for (const next of arrows.get(name) ?? []) walk(next)
  }
  // The verifier is built as one file, worker threads are started by URL, and docs/make.ts uses the configuration.
  // The routes of the history will use summaries and changes.
  for (const entry of [
    'main.ts',
    'verifier/main.ts',
    'adapters/embedded/writer/writer.ts',
    'adapters/embedded/ledger/thread.ts',
    'app/as-of-thread/thread.ts',
    'config/docs.ts',
    'events/summary.ts',
    'events/changes-of.ts',
  ])
    walk(entry)
  t.strictSame(
    files.filter((name) => !reached.has(name)),
    [],
  )
})

await t.test('each database driver is imported by exactly one file of the adapters', async (t) => {
  const drivers: Readonly<Record<string, RegExp>> = {
    '@photostructure/sqlite': /^adapters\/embedded\/sqlite\.ts$/,
    '@eventstore/db-client': /^adapters\/eventstoredb/,
    mongodb: /^adapters\/mongodb/,
    bullmq: /^adapters\/redis\/queue/,
    ioredis: /^adapters\/redis/,
  }
  for (const name of files) {
    for (const { target, typeOnly } of importsOf(readFileSync(resolve(src, name), 'utf8'))) {
      if (!typeOnly && drivers[target]) t.match(name, drivers[target], `${name} imports ${target}`)
    }
  }
  t.ok(files.length > 20)
})

/** Exports that the service does not use. */
const UNUSED: Readonly<Record<string, string>> = {
  'src/config/docs.ts configHandbook': 'docs/make.ts prints the handbook',
  'src/config/describe.ts exampleFile': 'docs/make.ts prints the example file',
  'ui/src/integrity/platform.ts sha256': 'the build puts the module in place of src/verifier/platform.ts',
  'ui/src/integrity/platform.ts bytesOfBase64': 'the build puts the module in place of src/verifier/platform.ts',
  'src/base/event-loop.ts measureSlicesBy': 'tests replace the clock of the slices',
}

await t.test('each export is used by another file, or is tested in the file that uses it', async (t) => {
  const texts = new Map(
    ['src', 'ui/src', 'docs', 'bench', 'test'].flatMap((folder) =>
      readdirSync(resolve(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => /\.tsx?$/.test(name))
        .map((name) => [`${folder}/${name}`, readFileSync(resolve(root, folder, name), 'utf8')] as const),
    ),
  )
  const isProduct = (file: string) => /^(ui\/)?src\//.test(file)
  /** Names that each file takes from another: of a static import those in braces, of a dynamic import every word. */
  const taken = new Map<string, { readonly words: string; readonly by: string }[]>()
  for (const [by, text] of texts)
    for (const [, braces, from, dynamic] of text.matchAll(
      /^(?:import|export)[^'"();]*?(\{[^}]*\}|\*[^']*) from '(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm,
    )) {
      const file = relative(root, resolve(root, dirname(by), (from ?? dynamic)!))
      taken.set(file, [...(taken.get(file) ?? []), { words: braces?.startsWith('{') ? braces : text, by }])
    }
  let checked = 0
  for (const [file, text] of texts) {
    if (!isProduct(file)) continue
    for (const [, declared, listed] of text.matchAll(
      /^export (?:async )?(?:(?:const|function\*?|class|abstract class|type|interface) (\w+)|(?:type )?\{([^}]*)\})/gm,
    ))
      for (const name of declared === undefined
        ? listed!.split(',').map((part) => part.trim().split(' ').at(-1)!)
        : [declared]) {
        if (name === '') continue
        checked++
        const word = new RegExp(`\\b${name}\\b`, 'g')
        const importers = (taken.get(file) ?? []).filter(({ words }) => words.match(word)).map(({ by }) => by)
        const isUsed = importers.some(isProduct) || (importers.length > 0 && text.match(word)!.length > 1)
        if (!isUsed && UNUSED[`${file} ${name}`] === undefined)
          t.fail(`${file} exports ${name}: delete it, or the word export`)
      }
  }
  t.ok(checked > 1_500, `${checked} exports checked`)
})

/** Identifiers that do not describe their value: use a specific name (`RolloutRequest`, `listeners`). */
const VAGUE = /\btype (?:Asked|Ask|Held|Place|Given|Part|Told)\b|\b(?:const|let) told\b|\btold: [A-Z]\w*[,)]/

await t.test('the names of files and functions describe their content', async (t) => {
  const forbidden = /^(utils?|helpers?|commons?|shared|libs?|misc|index)$|(Service|Manager|Repository|Helper)$/
  for (const name of files) {
    for (const part of name.replace(/\.ts$/, '').split('/')) {
      if (forbidden.test(part)) t.fail(`${name} has a name that says nothing`)
      if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(part)) t.fail(`${name} is not in kebab case`)
    }
    const text = readFileSync(resolve(src, name), 'utf8')
    const vague = VAGUE.exec(text)?.[0]
    if (vague !== undefined) t.fail(`${name}: "${vague}" does not say what the value is`)
    if (/^export default/m.test(text)) t.fail(`${name} has a default export`)
    if (/^(export )?(abstract )?class /m.test(text) && name !== 'base/errors.ts') t.fail(`${name} has a class`)
  }
  t.pass('all names read')
})

await t.test('only one file reads the network address of a connection', async (t) => {
  for (const name of files) {
    if (name === 'http/wire/framing.ts') continue
    if (
      /\brequest\.ips?\b|\{[^}]*\bips?\b[^}]*\}(: FastifyRequest| = request\b)/.test(
        readFileSync(resolve(src, name), 'utf8'),
      )
    )
      t.fail(`${name} takes the address of the connection`)
  }
  t.pass('all files read')
})

await t.test('no code of the HTTP API compares the beginning of a URL', async (t) => {
  const byPrefix = /(?:startsWith|indexOf|includes)\(['"`]\/\w|\/\^\\\/(?:\w|\(\?:)/
  for (const name of files.filter((name) => name.startsWith('http/')))
    t.notMatch(readFileSync(resolve(src, name), 'utf8'), byPrefix, name)
})

await t.test('the command line uses the process only through its terminal object', async (t) => {
  const touches =
    /\bprocess\.(?:stdout|stderr|stdin|env|exitCode)\b|\bprocess\[|\} = process\b(?!\.)|\bconsole\.|\)\.env\(/
  const port = 'cli/terminal/terminal.ts'
  for (const name of files.filter((name) => name.startsWith('cli/') && name !== port))
    t.notMatch(readFileSync(resolve(src, name), 'utf8'), touches, `${name}: take what it needs of the Terminal`)
  t.match(readFileSync(resolve(src, port), 'utf8'), touches)
})

await t.test('a source file has at most 300 lines', async (t) => {
  for (const name of files) {
    const lines = readFileSync(resolve(src, name), 'utf8').split('\n').length - 1
    if (lines > 300) t.fail(`${name} has ${lines} lines`)
  }
  t.pass('all files counted')
})

await t.test('no file contains the name of a machine or a download address', async (t) => {
  const places = [
    'src',
    'test',
    'docs',
    'bench',
    'examples',
    'deploy',
    'README.md',
    'CHANGELOG.md',
    'changelog',
    'package.json',
    '.ci/run',
  ]
  const suspicious = /\/(wo[r]k|fa[r]m|ho[m]e)\/|registry[.]npm[j]s/
  for (const place of places) {
    let names: string[]
    try {
      names = readdirSync(resolve(root, place), { recursive: true, encoding: 'utf8' })
    } catch {
      names = ['']
    }
    for (const name of names) {
      const path = resolve(root, place, name)
      if (!/\.(ts|md|json|yml|yaml|c|go|sh|html|css)$|run$/.test(basename(path))) continue
      let text: string
      try {
        text = readFileSync(path, 'utf8')
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EISDIR' || (error as NodeJS.ErrnoException).code === 'ENOENT')
          continue
        throw error
      }
      if (suspicious.test(text)) t.fail(`${relative(root, path)} names a machine`)
    }
  }
  t.pass('all files read')
})

await t.test('all dependencies have exact versions, and the lock file has no download addresses', async (t) => {
  const manifest = JSON.parse(readFileSync(resolve(root, 'package.json'), 'utf8')) as Record<
    string,
    Record<string, string>
  >
  for (const group of ['dependencies', 'devDependencies']) {
    for (const [name, version] of Object.entries(manifest[group]!))
      t.match(version, /^\d+\.\d+\.\d+(?:-[a-z\d.]+)?$/, name)
  }
  t.notMatch(readFileSync(resolve(root, 'package-lock.json'), 'utf8'), /"resolved": "http/)
  const reasons = readFileSync(resolve(root, 'docs/decisions/0014-what-a-package-does.md'), 'utf8')
  for (const name of Object.keys(manifest['dependencies']!)) t.ok(reasons.includes(`\`${name}\``), `why ${name}`)
})

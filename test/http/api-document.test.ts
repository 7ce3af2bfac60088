import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import t from 'tap'
import { refusals } from '../../src/base/errors.ts'
import { leaves } from '../../src/config/setting.ts'
import { settings } from '../../src/config/settings.ts'
import { everyWay, open } from './people.ts'

const root = resolve(import.meta.dirname, '../../..')
/** docs/api.md, and the pages that continue its sections. */
const pages = readdirSync(join(root, 'docs')).filter((name) => /^api(-\w+)?\.md$/.test(name))
const contract = pages.map((name) => readFileSync(join(root, 'docs', name), 'utf8')).join('\n')
/** Text of a section with its subsections. */
const section = (number: string): string => {
  const [, ...rest] = contract.split(new RegExp(String.raw`^##? ${number.replace('.', String.raw`\.`)}[. ]`, 'm'))
  return (rest[0] ?? '').split(number.includes('.') ? /^##? \d/m : /^# \d/m, 1)[0]!
}
const rowsOf = (text: string): readonly (readonly string[])[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) =>
      line
        .replaceAll(String.raw`\|`, '/')
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )

await t.test('every section that code or docs refer to exists in the contract', async (t) => {
  const sections = new Set([...contract.matchAll(/^##? (\d+(?:\.\d+)?)\.? /gm)].map(([, number]) => number!))
  t.ok(sections.size > 50)
  const files = ['src', 'test', 'docs', 'bench', 'deploy', 'examples'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(ts|md|yml|yaml)$/.test(name) && !name.includes('node_modules'))
      .map((name) => join(folder, name)),
  )
  let cited = 0
  for (const name of [...files, 'README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md']) {
    const text = readFileSync(join(root, name), 'utf8')
    const places =
      dirname(name) === 'docs' && pages.includes(basename(name))
        ? [text]
        : [...text.matchAll(/api(?:-\w+)?\.md(?:\]\([^)]*\))? ((?:(?:, | and | to )?§[\d.]*\d)+)/g)].map(
            ([, list]) => list!,
          )
    for (const [, number] of places.flatMap((place) => [...place.matchAll(/§(\d+(?:\.\d+)?)/g)])) {
      cited++
      if (!sections.has(number!)) t.fail(`${name} cites §${number}, which the contract has not`)
    }
  }
  t.ok(cited > 150, `${cited} places`)
})

await t.test('section 12 of docs/api.md lists exactly the settings', async (t) => {
  /** Keys of a cell: later ones may omit the prefix shared with the first. */
  const keysOf = (cell: string): string[] => {
    let before = ''
    return cell.split(/ \/ |, /).map((piece) => {
      const parent = before.slice(0, before.lastIndexOf('.') + 1)
      before = piece.startsWith('.') ? parent + piece.slice(1) : piece.includes('.') ? piece : parent + piece
      return before
    })
  }
  const tables = { '12.2': 'authentication.', '12.3': '', '12.6': 'identifiers.' }
  const written = Object.entries(tables).flatMap(([number, prefix]) =>
    rowsOf(section(number))
      .flatMap(([cell = '']) => (cell === 'Key' ? [] : keysOf(cell)))
      .flatMap((key) =>
        key.includes('*m*')
          ? ['token', 'oidc', 'codehost', 'orchestrator'].map((method) => key.replace('*m*', method))
          : key.replace('*p*', '*'),
      )
      .map((key) => prefix + key.replace('jwt.*', 'jwt.enabled')),
  )
  const real = leaves(settings, '').map(([key]) => key)
  t.ok(real.length > 80)
  t.strictSame(written.toSorted(), real.toSorted())
})

await t.test('the contract lists every reason for a refusal', async (t) => {
  for (const reason of Object.keys(refusals)) t.ok(contract.includes(`\`${reason}\``), reason)
})

await t.test('GET /asyncapi.json returns docs/asyncapi.json without a credential', async (t) => {
  const { service } = await everyWay(t)
  const file = readFileSync(join(root, 'docs/asyncapi.json'), 'utf8')
  const ask = (search: string) => service.request('GET', `/asyncapi.json${search}`, undefined, open)
  const [compact, pretty] = [await ask(''), await ask('?pretty')]
  t.equal(compact.headers['content-type'], 'application/json')
  t.strictSame(compact.json, JSON.parse(file))
  t.equal(`${pretty.text}\n`, file)
})

await t.test('the contract lists every route and every metric', async (t) => {
  const { service } = await everyWay(t)
  const bare = (path: string) => path.replaceAll(/\{\w+\}/g, '{}')
  const written = new Set<string>()
  for (const cells of rowsOf(contract).concat(
    contract.split('\n').flatMap((line) => (/^(GET|POST) /.test(line) ? [[line]] : [])),
  )) {
    const told = cells.slice(0, 3).join(' ')
    for (const [, path] of told.matchAll(/`((?:\/|N(?=[/`]))[^`?]*)`/g))
      for (const [verb] of told.matchAll(/\b(GET|POST|PUT|DELETE)\b/g)) {
        const full = path!.replace(/^N/, '/api/v1/namespaces/{namespaceKey}')
        written.add(`${verb} ${bare(full)}`)
        // §7.1: all routes except rollouts also exist without the namespace, for `default`.
        if (/^N\/(flags|segments)/.test(path!) && !path!.includes('rollouts'))
          written.add(`${verb} ${bare(path!.replace(/^N/, '/api/v1'))}`)
      }
  }
  const { json } = await service.request<{ paths: Record<string, object> }>('GET', '/openapi.json')
  for (const [path, verbs] of Object.entries(json.paths))
    for (const verb of Object.keys(verbs)) t.ok(written.has(`${verb.toUpperCase()} ${bare(path)}`), `${verb} ${path}`)

  const { text } = await service.request('GET', '/metrics', undefined, open)
  const names = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name)
  const told = rowsOf(section('11.1')).flatMap(([cell = '']) =>
    [...cell.matchAll(/`(rollcall_\w+)`/g)].map(([, name]) => name!),
  )
  t.strictSame(told.toSorted(), names.toSorted())
})

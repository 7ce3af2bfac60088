import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import t from 'tap'
import { RIGHTS } from '../../src/access/rights.ts'
import { refusals } from '../../src/base/errors.ts'
import { leaves } from '../../src/config/setting.ts'
import { settings } from '../../src/config/settings.ts'
import { contract, pages, root, rowsOf } from './contract.ts'
import { everyWay, open } from './people.ts'

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

await t.test('the contract has no cell of more than 400 characters, and api.md at most 25,000 words', (t) => {
  for (const cell of rowsOf(contract).flat()) if (cell.length > 400) t.fail(`${cell.length} characters: ${cell}`)
  t.ok(readFileSync(join(root, 'docs/api.md'), 'utf8').split(/\s+/).length <= 25_000)
  t.end()
})

await t.test('every setting that the contract names exists', async (t) => {
  const keys = leaves(settings, '').map(([key]) => key)
  let named = 0
  for (const [, name = ''] of contract.matchAll(/`([a-z_]+(?:\.[a-z_]+)+)(?:\.\*)?`/g)) {
    if (!Object.hasOwn(settings, name.split('.')[0]!) || (RIGHTS as readonly string[]).includes(name)) continue
    named++
    if (!keys.some((key) => `${key}.`.startsWith(`${name}.`))) t.fail(name)
  }
  t.ok(named > 80, `${named} names`)
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

await t.test('the contract lists every route', async (t) => {
  const { service } = await everyWay(t)
  const bare = (path: string) => path.replaceAll(/\{\w+\}/g, '{}')
  const written = new Set<string>()
  for (const cells of rowsOf(contract).concat(
    contract.split('\n').flatMap((line) => (/^(GET|POST) /.test(line) ? [[line]] : [])),
  )) {
    const told = cells.slice(0, 3).join(' ')
    for (const [, path] of told.matchAll(/`((?:\/|N(?=[/`]))[^`?]*)[^`]*`/g))
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
})

await t.test('the contract names every field of requests and answers', async (t) => {
  const { service } = await everyWay(t)
  const { json } = await service.request<{ components: { schemas: object } }>('GET', '/openapi.json')
  const words = new Set(contract.match(/@?\w+/g))
  const unnamed = new Set<string>()
  JSON.stringify(json.components.schemas, (key, value: unknown) => {
    if (key === 'properties') for (const name of Object.keys(value as object)) if (!words.has(name)) unnamed.add(name)
    return value
  })
  t.strictSame([...unnamed], [])
})

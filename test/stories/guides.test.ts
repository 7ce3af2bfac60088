import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import t from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { loadConfig } from '../../src/config/load.ts'
import { deadUrl } from '../auth/stand-ins/listen.ts'
import { signIn } from '../auth/stand-ins/provider.ts'
import { begin, comeBack } from '../http/people.ts'
import { startService } from '../start.ts'

const root = resolve(import.meta.dirname, '../../..')
const guides = ['oidc', 'codehost', 'kubernetes']
const textOf = (guide: string) => readFileSync(join(root, 'docs/guides', `${guide}.md`), 'utf8')
const yamlOf = (guide: string) => [...textOf(guide).matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, yaml]) => yaml!)

/** The settings of a file, as `startService` takes them. */
const settingsOf = (tree: unknown, key = ''): Record<string, string> =>
  typeof tree === 'object' && tree !== null && !Array.isArray(tree)
    ? Object.assign(
        {},
        ...Object.entries(tree).map(([name, value]) => settingsOf(value, key === '' ? name : `${key}.${name}`)),
      )
    : { [key]: typeof tree === 'string' ? tree : JSON.stringify(tree) }

await t.test('every configuration in the guides is one', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'guides-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const file = join(folder, 'config.yml')
  for (const guide of guides) {
    const configurations = yamlOf(guide).filter((yaml) => yaml.includes('authentication:'))
    t.ok(configurations.length > 0, guide)
    for (const yaml of configurations) {
      await writeFile(file, yaml)
      const { warnings } = loadConfig({ file, env: {}, flags: { 'authentication.methods.orchestrator.ca_path': file } })
      t.strictSame(warnings, [], yaml)
    }
  }
})

await t.test('every reason and every file that the guides name is there', async (t) => {
  const reasons = readFileSync(join(root, 'docs/errors.md'), 'utf8')
  for (const guide of guides) {
    for (const [, reason] of textOf(guide).matchAll(/^\|[^|]*`([a-z]+(?:_[a-z]+)+)`/gm))
      if (!reason!.endsWith('_url')) t.ok(reasons.includes(reason!), `${guide}: ${reason}`)
    for (const [, link] of textOf(guide).matchAll(/\]\((?!http)([^)#]+)/g))
      t.ok(existsSync(join(root, 'docs/guides', link!)), `${guide}: ${link}`)
  }
})

await t.test(
  'the manifests of the example name the volume, the audience and the right that the guide tells of',
  (t) => {
    const manifest = (name: string) =>
      parseAllDocuments(readFileSync(join(root, 'examples/kubernetes-client', name), 'utf8')).map(
        (document) => document.toJS() as { kind: string },
      )
    const [guide] = yamlOf('kubernetes').filter((yaml) => yaml.startsWith('volumes:'))
    const pod = manifest('client.yaml').find(({ kind }) => kind === 'Pod') as unknown as { spec: { volumes: object[] } }
    t.strictSame(pod.spec.volumes.at(-1), (parse(guide!) as { volumes: object[] }).volumes[0])
    const role = manifest('rbac.yaml').find(({ kind }) => kind === 'ClusterRole') as unknown as { rules: object[] }
    t.strictSame(role.rules, [{ apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] }])
    t.ok(readdirSync(join(root, 'examples/kubernetes-client')).includes('client.mjs'))
    t.end()
  },
)

await t.test('the provider for one’s own machine lets a person in, with the configuration of the guide', async (t) => {
  const { port } = new URL(await deadUrl())
  const [yaml = ''] = yamlOf('oidc')
  const settings = settingsOf(parse(yaml.replace('localhost:9090', `localhost:${port}`)))
  const child = spawn(process.execPath, [join(root, 'examples/local-issuer/issuer.js')], {
    env: { ...process.env, NODE_OPTIONS: '', PORT: port },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  t.teardown(() => child.kill())
  let said = ''
  while (!said.includes('is ready')) said += String((await once(child.stdout, 'data'))[0])

  const service = await startService(t, settings)
  const path = '/auth/v1/method/oidc/local'
  const { authorizeUrl, cookie } = await begin(service, path)
  const back = await signIn(authorizeUrl, 'alice', 'http://localhost:8080/')
  const answer = await comeBack(service, path, back.searchParams, { cookie, accept: 'application/json' })
  t.equal(answer.status, 200)
  t.equal(answer.json.authentication.metadata['io.service.auth.email'], 'alice@example.com')
})

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import t from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { allowed, reachOf } from '../../src/access/reach.ts'
import { bitOf } from '../../src/access/rights.ts'
import { grantsFor, type Subject } from '../../src/access/rules.ts'
import { accessPolicy } from '../../src/config/checks/access-rules.ts'
import { loadConfig } from '../../src/config/load.ts'
import { FORMAT } from '../../src/events/catalog.ts'
import { deadUrl } from '../auth/stand-ins/listen.ts'
import { signIn } from '../auth/stand-ins/provider.ts'
import { authorityFile } from '../authority.ts'
import { begin, comeBack } from '../http/people.ts'
import { startService } from '../start.ts'

const root = resolve(import.meta.dirname, '../../..')
const guides = ['oidc', 'codehost', 'kubernetes', 'access']
const textOf = (guide: string) => readFileSync(join(root, 'docs/guides', `${guide}.md`), 'utf8')
const yamlOf = (guide: string) => [...textOf(guide).matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, yaml]) => yaml!)

type Manifest = {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec?: unknown
  readonly subjects?: readonly { readonly namespace: string }[]
}

/** Converts the settings of a file for `startService`. */
const settingsOf = (tree: unknown, key = ''): Record<string, string> =>
  typeof tree === 'object' && tree !== null && !Array.isArray(tree)
    ? Object.assign(
        {},
        ...Object.entries(tree).map(([name, value]) => settingsOf(value, key === '' ? name : `${key}.${name}`)),
      )
    : { [key]: typeof tree === 'string' ? tree : JSON.stringify(tree) }

await t.test('every configuration in the guides is valid', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'guides-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const file = join(folder, 'config.yml')
  for (const guide of guides) {
    const configurations = yamlOf(guide).filter((yaml) => /^auth(entic|oriz)ation:/m.test(yaml))
    t.ok(configurations.length > 0, guide)
    for (const yaml of configurations) {
      await writeFile(file, yaml)
      const { warnings } = loadConfig({
        file,
        env: {},
        flags: { 'authentication.methods.orchestrator.ca_path': authorityFile },
      })
      t.strictSame(warnings, [], yaml)
    }
  }
})

await t.test('with the configuration in the guide only the platform team may delete', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'guides-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const file = join(folder, 'config.yml')
  const [whole = ''] = yamlOf('access').filter((yaml) => yaml.includes('rules:'))
  await writeFile(file, whole)
  const flags = { 'authentication.methods.orchestrator.ca_path': authorityFile }
  const policy = accessPolicy(loadConfig({ file, env: {}, flags }).config)
  const people: readonly (readonly [who: string, subject: Subject, deletes: boolean, updates: boolean])[] = [
    ['the platform team', { method: 'oidc', provider: 'corp', claims: { groups: ['platform-admins'] } }, true, true],
    ['the staff', { method: 'oidc', provider: 'corp', claims: { groups: ['staff'] } }, false, false],
    ['the team', { method: 'codehost', organizations: ['acme'], teams: { acme: ['shop'] } }, false, true],
    ['a pod', { method: 'orchestrator', namespace: 'shop', account: 'app' }, false, false],
  ]
  for (const [who, subject, deletes, updates] of people) {
    const given = grantsFor(policy, subject)
    if ('refused' in given) throw new Error(`${who} is refused`)
    const reach = reachOf({ grants: given.holding.grants, roles: given.holding.roles }, true)
    for (const [right, may] of [
      ['flag.delete', deletes],
      ['segment.delete', deletes],
      ['flag.update', updates],
      ['flag.evaluate', true],
    ] as const)
      t.equal(allowed(reach, bitOf(right), 'shop'), may, `${who}: ${right}`)
  }
})

await t.test('the operations guide names the event format that this version writes', (t) => {
  const guide = readFileSync(join(root, 'docs/guides/operations.md'), 'utf8')
  t.equal(/This version writes format (\d+) or a lower one\./.exec(guide)?.[1], String(FORMAT))
  t.end()
})

await t.test('every reason and file in the guides exists', async (t) => {
  // `access_denied` is an error code of providers (RFC 6749, 4.1.2.1).
  const reasons = `${readFileSync(join(root, 'docs/errors.md'), 'utf8')} access_denied`
  for (const guide of guides) {
    for (const [, reason] of textOf(guide).matchAll(/^\|[^|]*`([a-z]+(?:_[a-z]+)+)`/gm))
      if (!reason!.endsWith('_url')) t.ok(reasons.includes(reason!), `${guide}: ${reason}`)
    for (const [, link] of textOf(guide).matchAll(/\]\((?!http)([^)#]+)/g))
      t.ok(existsSync(join(root, 'docs/guides', link!)), `${guide}: ${link}`)
  }
})

await t.test('guide, example and manifests for Kubernetes agree on volume, address and right', async (t) => {
  const manifests = (path: string) =>
    parseAllDocuments(readFileSync(join(root, path), 'utf8')).map((document) => document.toJS() as Manifest)
  const one = (kind: string, all: readonly Manifest[]) => all.find((manifest) => manifest.kind === kind)!
  const deployed = readdirSync(join(root, 'deploy/kubernetes')).flatMap((name) =>
    manifests(`deploy/kubernetes/${name}`),
  )
  const example = manifests('examples/kubernetes-client/client.yaml')

  const [volumes = ''] = yamlOf('kubernetes').filter((yaml) => yaml.startsWith('volumes:'))
  const pod = one('Pod', example).spec as {
    volumes: object[]
    containers: { env: { name: string; value: string }[] }[]
  }
  t.strictSame(pod.volumes.at(-1), (parse(volumes) as { volumes: object[] }).volumes[0])

  const service = one('Service', deployed)
  const [{ port } = { port: 0 }] = (service.spec as { ports: { port: number }[] }).ports
  const [subject] = one('ClusterRoleBinding', deployed).subjects!
  const asked = [
    pod.containers[0]!.env.find(({ name }) => name === 'ROLLCALL_URL')!.value,
    ...[...textOf('kubernetes').matchAll(/http:\/\/[\w.:-]+\.svc\.[\w.:-]+/g)].map(([url]) => url),
  ]
  t.equal(asked.length, 2)
  for (const url of asked.map((text) => new URL(text))) {
    t.equal(url.hostname, `${service.metadata.name}.${subject!.namespace}.svc.cluster.local`)
    t.equal(Number(url.port || '80'), port)
  }

  const bindings = ['deploy', 'examples']
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
    )
    .filter(
      (name) => /\.ya?ml$/.test(name) && readFileSync(join(root, name), 'utf8').includes('kind: ClusterRoleBinding'),
    )
  const [chart, plain] = bindings.toSorted()
  t.match(chart, /^deploy\/chart\//, 'the right is given in the chart')
  t.equal(bindings.length, 2, 'and in one file beside it')
  t.ok(textOf('kubernetes').includes(`../../${plain}`), 'which the guide names')
})

await t.test('a person can log in at the local provider with the configuration in the guide', async (t) => {
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

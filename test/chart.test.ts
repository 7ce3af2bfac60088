import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { variableOf } from '../src/config/environment.ts'
import { loadConfig } from '../src/config/load.ts'
import { leaves, type SettingKind } from '../src/config/setting.ts'
import { settings } from '../src/config/settings.ts'
import { authorityFile } from './authority.ts'
import { has, leaveOut } from './crash/rig.ts'

const root = resolve(import.meta.dirname, '../..')
const chart = join(root, 'deploy/chart')
const read = (path: string) => readFileSync(join(chart, path), 'utf8')
const run = promisify(execFile)

type Tree = { readonly [name: string]: unknown }
const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null && !Array.isArray(value)
/** Keys of the leaves of a tree. */
const endsOf = (tree: Tree, key = ''): readonly string[] =>
  Object.entries(tree).flatMap(([name, value]) =>
    isTree(value) && Object.keys(value).length > 0 ? endsOf(value, `${key}${name}.`) : [`${key}${name}`],
  )

const values = parse(read('values.yaml')) as Tree & { readonly config: Tree }
const templates = readdirSync(join(chart, 'templates')).map((name) => read(join('templates', name)))
const all = templates.join('\n')
/** Example of allowed exchanges in the values, without comment signs. */
const example = /^ {2}# authentication:\n(?: {2}# .*\n)+/m.exec(read('values.yaml'))![0].replaceAll(/^ {2}# /gm, '')

/** Loads a configuration from a text, as in a pod with these variables. */
const loaded = (t: Test, text: string, env: Readonly<Record<string, string>> = {}) => {
  const directory = mkdtempSync(join(tmpdir(), 'rollcall-chart-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'rollcall.yml')
  writeFileSync(file, text)
  const urls = { eventstore: 'esdb://e:2113?tls=false', mongodb: 'mongodb://m', redis: 'redis://r' }
  for (const [name, url] of Object.entries(urls)) writeFileSync(join(directory, `${name}-url`), url)
  const there = Object.fromEntries(
    Object.entries(env).map(([name, value]) => [name, value.replace('/etc/rollcall-secrets', directory)]),
  )
  const { config, warnings } = loadConfig({
    file,
    env: { ...there, ROLLCALL_AUTHENTICATION_METHODS_ORCHESTRATOR_CA_PATH: authorityFile },
  })
  t.same(warnings, [])
  return config
}

await t.test("the chart's templates use all of its values and no undefined ones", (t) => {
  const used = new Set([...all.matchAll(/\.Values\.([\w.]+)/g)].map(([, key]) => key!))
  const ends = endsOf(values)
  for (const key of used)
    t.ok(
      ends.some((end) => end === key || end.startsWith(`${key}.`)),
      `there is a value ${key}`,
    )
  for (const end of ends)
    t.ok(
      [...used].some((key) => end === key || end.startsWith(`${key}.`)),
      `the value ${end} is used`,
    )
  t.end()
})

await t.test("the chart's templates and values use only settings that the service knows", (t) => {
  const known = leaves(settings).map(([key]) => key)
  const [, define = ''] = /define "rollcall\.settings" -}}\n([^]*?)\{\{- end }}\n\n/.exec(all)!
  const text = define.replaceAll(/^\{\{-.*\n/gm, '').replaceAll(/\{\{.*?}}/g, '"x"')
  const set = endsOf(parse(text) as Tree)
  t.ok(set.length >= 5)
  for (const key of [...set, ...endsOf(values.config), ...endsOf(parse(example) as Tree)])
    t.ok(known.includes(key), `${key} is a setting`)
  for (const [, name] of all.matchAll(/name: (ROLLCALL_\w+)/g)) {
    const key = known.find((one) => name === `ROLLCALL_${one.toUpperCase().replaceAll('.', '_')}_FILE`)
    t.ok(name === 'ROLLCALL_CONFIG' || key !== undefined, `${name} is a setting`)
  }
  loaded(t, JSON.stringify(values.config))
  const { allowed, audiences } = loaded(t, example).authentication.methods.orchestrator
  t.ok(allowed.length > 0 && audiences.length > 0)
  t.notMatch(JSON.stringify(allowed), /\*/)
  t.match(loaded(t, example).history, { network_life: 2160 * 3_600_000, ledger: { witnesses: { length: 1 } } })
  const keyFile = (parse(text) as { history: { ledger: { key_file: string } } }).history.ledger.key_file
  const mounted = /name: signing-key, mountPath: (\S+), readOnly: true/.exec(all)![1]!
  t.equal(keyFile, `${mounted}/signing-key.pem`, 'the signing key is a file of the mounted Secret')
  t.end()
})

await t.test('the chart refuses a secret under "config", and names the variable to use', (t) => {
  const [, listed = ''] = /define "rollcall\.secretKeys" -}}\n([^]*?)\n\{\{- end }}/.exec(all)!
  const hidden = (kind: SettingKind<unknown>) => kind.show('esdb://me:pw@host?x=1') === undefined
  const secrets = leaves(settings).filter(([, { kind }]) => kind.textual && hidden(kind))
  t.strictSame(listed.split('\n').toSorted(), secrets.map(([key]) => key).toSorted())
  const [, name = ''] = /^# - name: (ROLLCALL_\w+)$/m.exec(read('values.yaml'))!
  const patterns = secrets.map(([key]) => new RegExp(`^${variableOf(key).replace('*', '[A-Z]+')}$`))
  t.ok(patterns.some((pattern) => pattern.test(name)))
  t.end()
})

await t.test('the schema of the chart lists exactly its values', (t) => {
  type Schema = { readonly properties?: Readonly<Record<string, Schema>>; readonly additionalProperties?: boolean }
  const known = ({ properties }: Schema, key = ''): readonly string[] =>
    Object.entries(properties ?? {}).flatMap(([name, inner]) =>
      inner.properties ? known(inner, `${key}${name}.`) : [`${key}${name}`],
    )
  const schema = JSON.parse(read('values.schema.json')) as Schema
  const there = known(schema).filter((key) => key !== 'global')
  const ends = endsOf(values)
  for (const end of ends)
    t.ok(
      there.some((key) => end === key || end.startsWith(`${key}.`)),
      end,
    )
  for (const key of there)
    t.ok(
      ends.some((end) => end === key || end.startsWith(`${key}.`)),
      key,
    )
  t.equal(schema.additionalProperties, false)
  t.end()
})

await t.test('the chart has the version of the package', (t) => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  t.match(parse(read('Chart.yaml')), { name: 'rollcall', version, appVersion: version })
  t.end()
})

type Manifest = {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly annotations?: Tree }
  readonly data: Readonly<Record<string, string>>
  readonly spec: Tree
  readonly rules?: unknown
}
const documents = (text: string) => parseAllDocuments(text).map((document) => document.toJS() as Manifest)
const raw = readdirSync(join(root, 'deploy/kubernetes')).flatMap((name) =>
  documents(readFileSync(join(root, 'deploy/kubernetes', name), 'utf8')),
)
const one = (kind: string, manifests: readonly Manifest[]) => manifests.find((manifest) => manifest.kind === kind)!
type Pod = {
  readonly terminationGracePeriodSeconds: number
  readonly automountServiceAccountToken?: boolean
  readonly containers: readonly [{ readonly env: readonly { readonly name: string; readonly value: string }[] }]
}
const podOf = ({ spec }: Manifest) => (spec as { template: { spec: Pod } }).template.spec

await t.test("the security contexts of the chart's values are those of the plain manifests", (t) => {
  const pod = podOf(one('Deployment', raw)) as unknown as { securityContext: Tree; containers: readonly [Tree] }
  const { podSecurityContext, securityContext } = values as unknown as Record<string, Tree>
  t.strictSame(podSecurityContext, { ...pod.securityContext, fsGroupChangePolicy: 'OnRootMismatch' })
  t.strictSame(securityContext, pod.containers[0]['securityContext'])
  t.end()
})

/** With a fixed version of Kubernetes, because a helm built from source assumes an old one. */
const helm = async (...args: readonly string[]) =>
  (await run('helm', ['template', 'rollcall', chart, '--namespace', 'rollcall', '--kube-version', '1.31.0', ...args]))
    .stdout
const withExchanges = ['--set-json', `config.authentication=${JSON.stringify(parse(example).authentication)}`]

await t.test('helm renders the chart', async (t) => {
  if (!(await has('helm'))) return leaveOut(t, 'needs helm (it has no Debian package)')
  await run('helm', ['lint', '--strict', chart])

  await t.test('in server mode the chart gives the same pod as the plain manifests', async (t) => {
    const made = documents(await helm(...withExchanges))
    t.strictSame(made.map(({ kind }) => kind).toSorted(), raw.map(({ kind }) => kind).toSorted())
    const config = loaded(
      t,
      one('ConfigMap', made).data['rollcall.yml']!,
      Object.fromEntries(podOf(one('Deployment', made)).containers[0].env.map(({ name, value }) => [name, value])),
    )
    t.match(config, { storage: { type: 'cluster' }, keys: { file: '/etc/rollcall-secrets/keys' } })
    t.strictSame(
      parse(one('ConfigMap', made).data['rollcall.yml']!),
      Object.assign(parse(one('ConfigMap', raw).data['rollcall.yml']!) as Tree, {
        server: { public_url: 'https://rollcall.example.com', shutdown_grace: '10s' },
      }),
    )
    /** Removes names that depend on the release, and additions of the chart. */
    const plain = (pod: Pod) =>
      JSON.stringify(pod, (key, value: unknown) =>
        ['matchLabels', 'imagePullPolicy', 'automountServiceAccountToken', 'fsGroupChangePolicy'].includes(key)
          ? undefined
          : value,
      )
    t.strictSame(JSON.parse(plain(podOf(one('Deployment', made)))), JSON.parse(plain(podOf(one('Deployment', raw)))))
    t.equal(podOf(one('Deployment', made)).automountServiceAccountToken, true)
    t.strictSame(one('ClusterRole', made).rules, one('ClusterRole', raw).rules)
    for (const kind of ['NetworkPolicy', 'Service', 'PodDisruptionBudget']) {
      const spec = (manifests: readonly Manifest[]) =>
        JSON.stringify(one(kind, manifests).spec, (key, value: unknown) =>
          key === 'podSelector' || key === 'selector' ? undefined : value,
        )
      t.strictSame(JSON.parse(spec(made)), JSON.parse(spec(raw)), kind)
    }
  })

  await t.test('in embedded mode the chart gives one pod with a volume and no rights in the cluster', async (t) => {
    const made = documents(await helm('--set', 'mode=embedded,shutdownGraceSeconds=60'))
    const kinds = 'ConfigMap NetworkPolicy Service ServiceAccount StatefulSet'.split(' ')
    t.strictSame(made.map(({ kind }) => kind).toSorted(), kinds)
    const set = one('StatefulSet', made)
    t.match(set.spec, { replicas: 1, volumeClaimTemplates: [{ metadata: { name: 'data' } }] })
    const pod = podOf(set)
    t.equal(pod.automountServiceAccountToken, false)
    const config = loaded(t, one('ConfigMap', made).data['rollcall.yml']!)
    t.match(config, { storage: { type: 'embedded' }, server: { shutdown_grace: 60_000 } })
    t.ok(pod.terminationGracePeriodSeconds * 1000 >= config.server.shutdown_grace + 5_000 + 20_000)
    t.notMatch(JSON.stringify(pod), /rollcall-secrets/)
    const kept = documents(await helm('--set', 'mode=embedded,embedded.keysSecret=mine'))
    t.match(parse(one('ConfigMap', kept).data['rollcall.yml']!), { keys: { file: '/etc/rollcall-secrets/keys' } })
    t.match(podOf(one('StatefulSet', kept)), { volumes: [{}, { secret: { secretName: 'mine' } }, {}] })
  })

  await t.test(
    'the chart allows the port of the collector of traces, and other name servers and volumes',
    async (t) => {
      type Egress = readonly { readonly to?: unknown; readonly ports: readonly { readonly port: number }[] }[]
      const egress = async (...args: readonly string[]) =>
        (one('NetworkPolicy', documents(await helm(...args))).spec as { egress: Egress }).egress
      const outPorts = async (endpoint: string) =>
        (await egress('--set', `config.tracing.otlp_endpoint=${endpoint}`)).at(-1)!.ports.map(({ port }) => port)
      t.strictSame(await outPorts('http://collector:4318'), [443, 6443, 4318])
      t.strictSame(await outPorts('http://[2001:db8::1]/v1/traces'), [443, 6443, 80])
      t.strictSame(await outPorts('https://collector.example.com/x:9/'), [443, 6443])
      const [dns] = await egress(
        '--set-json',
        'networkPolicy.dns={"to":[{"ipBlock":{"cidr":"10.96.0.10/32"}}],"ports":[53]}',
      )
      t.match(dns, { to: [{ ipBlock: { cidr: '10.96.0.10/32' } }], ports: [{ port: 53 }, { port: 53 }] })
      const volume = ['--set', 'mode=embedded', '--set-json', 'embedded.persistence.accessModes=["ReadWriteOnce"]']
      t.match(one('StatefulSet', documents(await helm(...volume))).spec, {
        volumeClaimTemplates: [{ spec: { accessModes: ['ReadWriteOnce'] } }],
      })
    },
  )

  await t.test('with a ServiceMonitor only a separate Kubernetes Service exposes the metrics', async (t) => {
    const made = documents(await helm('--set', 'metrics.serviceMonitor.enabled=true'))
    const services = made.filter(({ kind }) => kind === 'Service')
    t.match(
      services.map(({ metadata, spec }) => [metadata.name, spec['ports']]),
      [
        ['rollcall', [{ targetPort: 'http' }]],
        ['rollcall-metrics', [{ targetPort: 'metrics' }]],
      ],
    )
    t.equal(one('ServiceMonitor', made).metadata.name, 'rollcall')
    t.notMatch(JSON.stringify(one('Deployment', made)), /prometheus\.io/)
  })

  await t.test('the rights that the chart gives for token exchanges are those of the guide', async (t) => {
    const guide = readFileSync(join(root, 'docs/guides/kubernetes.md'), 'utf8')
    const [, own = ''] = /^```yaml\n(authentication:.*?)^```$/ms.exec(guide)!
    const asGuided = (more: object = {}) => [
      '--set-json',
      `config=${JSON.stringify({ ...(parse(own) as Tree), ...more })}`,
    ]
    const kinds = async (...args: readonly string[]) => documents(await helm(...args)).map(({ kind }) => kind)
    t.ok((await kinds(...asGuided())).includes('ClusterRole'), 'every account of a namespace')
    const { methods } = (parse(own) as { authentication: { methods: { orchestrator: Tree } } }).authentication
    const orchestrator = { ...methods.orchestrator, allowed: [] }
    const open = { authentication: { methods: { orchestrator } } }
    const rule = {
      name: 'all',
      method: 'orchestrator',
      namespaces: ['*'],
      service_accounts: ['*'],
      grants: ['server@{namespace}'],
    }
    t.ok(
      (await kinds(...asGuided({ ...open, authorization: { rules: [rule] } }))).includes('ClusterRole'),
      'under rules',
    )
    const signed = { authentication: { methods: { orchestrator: { ...methods.orchestrator, verification: 'jwks' } } } }
    t.notOk((await kinds(...asGuided(signed))).includes('ClusterRole'), 'to check signatures takes no right')
  })

  await t.test('two chart releases whose long names begin alike get different resource names', async (t) => {
    const nameOf = async (release: string) => {
      const args = ['template', release, chart, '--namespace', 'n', '--kube-version', '1.31.0']
      return one('Service', documents((await run('helm', args)).stdout)).metadata.name
    }
    const long = 'a'.repeat(48)
    const [first, second] = [await nameOf(`${long}-one`), await nameOf(`${long}-two`)]
    t.not(first, second)
    for (const name of [first, second]) t.match(name, /^[a-z0-9-]{1,53}$/)
    t.equal(await nameOf('mine'), 'mine-rollcall')
    t.equal(await nameOf('my-rollcall'), 'my-rollcall')
  })

  await t.test('the chart mounts certificate authorities of a ConfigMap as files', async (t) => {
    const pod = JSON.stringify(podOf(one('Deployment', documents(await helm('--set', 'authorities=company')))))
    t.match(pod, '{"name":"authorities","configMap":{"name":"company"}}')
    t.match(pod, '{"name":"authorities","mountPath":"/etc/rollcall-authorities","readOnly":true}')
    t.notMatch(JSON.stringify(documents(await helm())), /authorities/)
  })

  await t.test('the chart mounts the signing key of a Secret as a read-only file in both modes', async (t) => {
    for (const mode of ['servers', 'embedded'] as const) {
      const made = documents(await helm('--set', `mode=${mode},ledger.keySecret=signing`))
      const file = { history: { ledger: { key_file: '/etc/rollcall-ledger/signing-key.pem' } } }
      t.match(parse(one('ConfigMap', made).data['rollcall.yml']!), file)
      const pod = JSON.stringify(podOf(one(mode === 'servers' ? 'Deployment' : 'StatefulSet', made)))
      t.match(pod, '{"name":"signing-key","secret":{"secretName":"signing","defaultMode":288}}')
      t.match(pod, '{"name":"signing-key","mountPath":"/etc/rollcall-ledger","readOnly":true}')
    }
    t.notMatch(JSON.stringify(documents(await helm())), /signing-key|rollcall-ledger/)
  })

  await t.test('the chart brings secrets into the pod from a Kubernetes Secret', async (t) => {
    const env = [{ name: 'ROLLCALL_REDIS_PASSWORD', valueFrom: { secretKeyRef: { name: 'logins', key: 'redis' } } }]
    const envFrom = [{ secretRef: { name: 'logins' } }]
    const made = documents(
      await helm('--set-json', `env=${JSON.stringify(env)}`, '--set-json', `envFrom=${JSON.stringify(envFrom)}`),
    )
    const [container] = podOf(one('Deployment', made)).containers
    t.match(container, { envFrom })
    t.match(container.env.at(-1), env[0])
    for (const open of [
      'config.outgoing.https_proxy=http://proxy',
      'config.authentication.methods.codehost.proxy=none',
    ])
      t.match(JSON.stringify(documents(await helm('--set', open))), /_?proxy/, 'a proxy without a password is none')
  })

  await t.test('the chart refuses invalid values with advice', async (t) => {
    const everybody = [{ namespace: '*', service_accounts: ['web'] }]
    for (const [args, says] of [
      [['--set', 'mode=both'], /mode/],
      [['--set', 'metrics.port=8080'], /metrics\.port must not be 8080/],
      [['--set', 'replicas=3'], /replicas/],
      [['--set', 'servers.replica=3'], /replica/],
      [['--set', 'servers.replicas=many'], /replicas/],
      [['--set', 'servers.secret='], /servers\.secret must name the Secret/],
      [['--set', 'config.authentication.methods.orchestrator.enabled=true'], /allowed must name the service accounts/],
      [
        [
          ...withExchanges,
          '--set-json',
          `config.authentication.methods.orchestrator.allowed=${JSON.stringify(everybody)}`,
        ],
        /\* is the whole cluster/,
      ],
      [['--set-json', 'networkPolicy.clients=[]'], /clients must name the clients/],
      [['--set-json', 'networkPolicy.dns.to=[]'], /dns\.to must name the name servers/],
      [['--set', 'config.server.http_port=9000'], /server\.http_port has no effect in the chart.*port 8080/],
      [['--set', 'config.server.protocol=https'], /server\.protocol has no effect/],
      [['--set-json', 'embedded.persistence.accessModes=["ReadWriteMany"]'], /accessModes/],
      [['--set-json', 'networkPolicy.stores.to=[]'], /stores\.to must name the servers/],
      [[...withExchanges, '--set-json', 'config.authentication.methods.orchestrator.allowed=[]'], /allowed must name/],
      [['--set', 'config.authentication.methods.codehost.client_secret=x'], /codehost\.client_secret is a secret/],
      [
        ['--set', 'config.authentication.methods.oidc.providers.corp.client_secret=x'],
        /providers\.\*\.client_secret is a secret.*envFrom/,
      ],
      [['--set', 'config.authentication.methods.token.bootstrap.token=x'], /bootstrap\.token is a secret/],
      [['--set', 'config.redis.password=x'], /redis\.password is a secret/],
      [['--set', 'config.outgoing.https_proxy=http://me:pw@proxy'], /outgoing\.https_proxy is a secret/],
      [
        ['--set', 'config.authentication.methods.oidc.providers.corp.proxy=http://me:pw@proxy'],
        /providers\.\*\.proxy is a secret/,
      ],
    ] as const)
      await t.rejects(helm(...args), { message: says }, String(says))
  })
})

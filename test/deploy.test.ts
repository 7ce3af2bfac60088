import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { loadConfig } from '../src/config/load.ts'
import { authorityFile } from './authority.ts'
import { httpsSettings } from './http/https.ts'
import { startService } from './start.ts'

const root = resolve(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const run = promisify(execFile)
type Env = Readonly<Record<string, string>>

const { version, dependencies } = JSON.parse(read('package.json')) as { version: string; dependencies: Env }
/** Tag with a three-part version, never a moving one. */
const EXACT = /^[a-z0-9./-]+:\d+\.\d+\.\d+(-[a-z0-9.-]+)?$/
const URLS: Env = { eventstore: 'esdb://e:2113?tls=false', mongodb: 'mongodb://m:27017', redis: 'redis://r:6379' }

/** The instructions of a Dockerfile, continued lines joined: `['RUN', 'npm ci …']`. */
const instructions = read('Dockerfile')
  .replace(/^#.*\n/gm, '')
  .replaceAll(/\\\n\s*/g, ' ')
  .split('\n')
  .filter((line) => line.trim() !== '')
  .map((line): readonly [string, string] => [line.split(' ', 1)[0]!, line.slice(line.indexOf(' ') + 1)])
const of = (name: string) => instructions.filter(([instruction]) => instruction === name).map(([, rest]) => rest)
const last = (name: string) => of(name).at(-1) ?? ''

type ComposeService = {
  readonly image: string
  readonly restart: string
  readonly environment?: Env
  readonly ports?: readonly string[]
  readonly command?: readonly string[]
  readonly volumes: readonly string[]
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly healthcheck: { readonly test: readonly string[] }
}
const compose = parse(read('docker-compose.yml')) as {
  readonly services: Readonly<Record<string, ComposeService>>
  readonly volumes: object
  readonly networks: object
}
const servers = Object.entries(compose.services).filter(([name]) => name !== 'rollcall')

await t.test('the image is built without scripts of packages and has only production packages', async (t) => {
  for (const from of of('FROM')) t.match(from.split(' ')[0], EXACT)
  const installs = of('RUN').filter((command) => command.includes('npm ci'))
  t.equal(installs.length, 2)
  for (const install of installs) t.match(install, /--ignore-scripts/)
  t.match(installs[1], /--omit=dev/)
  const copies = instructions
    .slice(instructions.findLastIndex(([name]) => name === 'FROM'))
    .filter(([name]) => name === 'COPY')
  t.strictSame(
    copies.map(([, rest]) => rest),
    [
      '--from=packages /app ./',
      '--from=build /app/dist/src ./dist/src',
      '--from=build /app/dist/ui ./dist/ui',
      '--from=build /app/dist/rollcall-verify.mjs ./dist/rollcall-verify.mjs',
      '--from=packages --chown=10001:10001 /data /data',
    ],
  )
  t.match(of('LABEL')[0], new RegExp('title="rollcall".*licenses="Apache-2.0"'))
  t.ok(of('ARG').includes(`VERSION=${version}`), 'the version of the package')
})

await t.test('the image has the Node.js version that the tests use', (t) => {
  const versions = new Set(of('FROM').map((from) => /^node:([\d.]+)-/.exec(from)![1]!))
  t.equal(versions.size, 1)
  const [inImage = ''] = versions
  t.match(read('.ci/run'), /^image_node=.*Dockerfile/m, 'which take its number from the Dockerfile')
  const [, least = ''] = /^\^([\d.]+) /.exec((JSON.parse(read('package.json')) as { engines: Env }).engines['node']!)!
  t.ok(parseFloat(inImage) >= parseFloat(least))
  t.match(read('examples/kubernetes-client/client.yaml'), `image: node:${parseInt(inImage)}-slim`)
  t.comment(`the image runs ${inImage}, these tests run on ${process.versions.node}`)
  t.end()
})

await t.test('an installation without the packages of the build ends with one sentence', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'rollcall-prepare-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  const script = join(directory, 'prepare.mjs')
  copyFileSync(join(root, 'prepare.mjs'), script)
  const sentence = 'the packages that build Rollcall are not installed'
  const stderr = `error: ${sentence}: install them with npm ci --include=dev.\n`
  await t.rejects(run(process.execPath, [script]), { code: 1, stdout: '', stderr })
  mkdirSync(join(directory, 'dist/src'), { recursive: true })
  writeFileSync(join(directory, 'dist/src/main.js'), '')
  const built = await run(process.execPath, [script])
  t.strictSame(built, { stdout: `dist is not built again, because ${sentence}.\n`, stderr: '' })
})

await t.test('the production dependencies include every package that the code imports', async (t) => {
  let seen = 0
  for (const name of readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.ts')) continue
    for (const [, type, target] of read(join('src', name)).matchAll(
      /(?:^import( type)?[^;'"]*?from |\bimport\()'([^.'][^']*)'/gm,
    )) {
      if (type !== undefined || target!.startsWith('node:')) continue
      const [scope = '', rest = ''] = target!.split('/')
      seen++
      t.ok((scope.startsWith('@') ? `${scope}/${rest}` : scope) in dependencies, `${name} imports ${target}`)
    }
  }
  t.ok(seen > 10)
})

await t.test('the container runs as a user without a name and writes only to /data', async (t) => {
  t.strictSame(JSON.parse(last('ENTRYPOINT')), ['node', 'dist/src/main.js'])
  t.strictSame(JSON.parse(last('CMD')), ['serve'])
  t.match(last('USER'), /^[1-9]\d{3,}:[1-9]\d{3,}$/)
  t.equal(last('VOLUME'), '/data')
  const env = Object.fromEntries(
    [
      ...of('ENV')
        .join(' ')
        .matchAll(/(\w+)=("[^"]*"|\S+)/g),
    ].map(([, name, value]) => [name!, value!]),
  )
  const { config, warnings } = loadConfig({ env })
  t.same(warnings, [])
  t.equal(config.storage.data_dir, '/data')
})

await t.test('health checks follow the configuration, and tell a running service from a stopped one', async (t) => {
  const inImage = JSON.parse(last('HEALTHCHECK').replace(/^.*?CMD /, '')) as string[]
  const [kind, ...inCompose] = compose.services['rollcall']!.healthcheck.test
  t.equal(kind, 'CMD')
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-health-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const exit = async ([command = '', ...args]: readonly string[], env: Env) =>
    run(command, args, { cwd: root, env: { ...process.env, ...env } }).then(
      () => 0,
      ({ code }: { code: number }) => code,
    )
  const ways: Readonly<Record<string, readonly [settings: Env, server: (port: string) => object]>> = {
    port: [{}, (port) => ({ http_port: Number(port) })],
    https: [await httpsSettings(t), (port) => ({ protocol: 'https', https_port: Number(port) })],
  }
  for (const [name, [settings, server]] of Object.entries(ways)) {
    const service = await startService(t, settings)
    const { port } = new URL(service.url)
    const file = join(folder, `${name}.json`)
    const { 'server.cert_file': cert_file, 'server.cert_key': cert_key } = settings
    writeFileSync(file, JSON.stringify({ server: { ...server(port), ...(cert_file && { cert_file, cert_key }) } }))
    const inFile = { ROLLCALL_CONFIG: file }
    t.same(await Promise.all([exit(inImage, inFile), exit(inCompose, inFile)]), [0, 0], name)
    if (name === 'port') t.equal(await exit(inImage, { ROLLCALL_SERVER_HTTP_PORT: port }), 0, 'a variable')
    await service.close()
    t.same(await Promise.all([exit(inImage, inFile), exit(inCompose, inFile)]), [1, 1], name)
  }
})

await t.test('the build context contains only the sources of the image', async (t) => {
  t.strictSame(
    read('.dockerignore')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#')),
    ['*', '!package.json', '!package-lock.json', '!tsconfig.json', '!src', '!ui'],
  )
})

await t.test('services of docker compose have exact tags, health checks, restart policies and volumes', async (t) => {
  t.same(Object.keys(compose.services), ['rollcall', 'eventstore', 'mongodb', 'redis'])
  for (const [name, { image, restart, healthcheck, volumes }] of Object.entries(compose.services)) {
    t.match(image, EXACT, name)
    t.equal(restart, 'unless-stopped', name)
    t.match(healthcheck.test[0], /^CMD(-SHELL)?$/, name)
    t.ok(healthcheck.test.length > 1, name)
    for (const volume of volumes)
      t.ok(Object.hasOwn(compose.volumes, volume.split(':')[0]!), `${name} mounts the named volume ${volume}`)
  }
  t.equal(compose.services['rollcall']!.image, `rollcall:${version}`)
})

await t.test('in docker compose only the service is published, and it starts after healthy servers', async (t) => {
  for (const [name, { ports }] of servers) t.equal(ports, undefined, name)
  const rollcall = compose.services['rollcall']!
  t.same(rollcall.ports, ['127.0.0.1:8080:8080'])
  t.same(rollcall.depends_on, Object.fromEntries(servers.map(([name]) => [name, { condition: 'service_healthy' }])))
  t.match(rollcall, {
    read_only: true,
    user: last('USER'),
    tmpfs: ['/tmp'],
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
  })
  t.match(compose.networks, { stores: { internal: true } })
  const { config, warnings } = loadConfig({ env: rollcall.environment! })
  t.same(warnings, [], 'every variable is a setting')
  t.equal(config.storage.type, 'cluster')
  for (const name of ['eventstore', 'mongodb', 'redis'] as const) t.equal(new URL(config[name].url!).hostname, name)
})

await t.test('each server in docker compose is configured to keep acknowledged writes', async (t) => {
  const { eventstore, mongodb, redis } = compose.services
  t.match(eventstore!.image, /^eventstore\/eventstore:24\.10\./)
  t.match(eventstore!.environment, { EVENTSTORE_INSECURE: 'true', EVENTSTORE_RUN_PROJECTIONS: 'None' })
  t.notOk('EVENTSTORE_MEM_DB' in eventstore!.environment!)
  t.match(mongodb!.command!.join(' '), /--replSet rs0/)
  t.match(mongodb!.healthcheck.test.join(' '), /rs\.initiate[^]*host: 'mongodb:27017'[^]*quit\(state === 1 \? 0 : 1\)/)
  t.match(redis!.command!.join(' '), /--appendonly yes .*--maxmemory-policy noeviction/)
})

type Manifest = {
  readonly kind: string
  readonly apiVersion: string
  readonly metadata: { readonly name: string }
  readonly data: Env
  readonly spec: never
}
const folder = join(root, 'deploy/kubernetes')
const manifests = readdirSync(folder).flatMap((name) =>
  parseAllDocuments(readFileSync(join(folder, name), 'utf8')).map((document) => {
    if (document.errors.length > 0) throw document.errors[0]!
    return document.toJS() as Manifest
  }),
)
const manifest = (kind: string) => manifests.find((one) => one.kind === kind)!

await t.test('the Kubernetes manifests form one deployment and refer to each other', async (t) => {
  const kinds =
    'ClusterRole ClusterRoleBinding ConfigMap Deployment NetworkPolicy PodDisruptionBudget Service ServiceAccount'.split(
      ' ',
    )
  t.same(manifests.map(({ kind }) => kind).sort(), kinds)
  for (const { metadata, apiVersion } of manifests) t.match([metadata.name, apiVersion], [/^rollcall/, /v1$/])
  const app = { 'app.kubernetes.io/name': 'rollcall' }
  t.match(manifest('Deployment'), {
    spec: { replicas: 2, selector: { matchLabels: app }, template: { metadata: { labels: app } } },
  })
  t.match(manifest('Service'), { spec: { selector: app, ports: [{ targetPort: 'http' }] } })
  t.match(manifest('PodDisruptionBudget'), { spec: { minAvailable: 1, selector: { matchLabels: app } } })
  t.match(manifest('NetworkPolicy'), {
    spec: { podSelector: { matchLabels: app }, policyTypes: ['Ingress', 'Egress'] },
  })
  t.match(manifest('ClusterRoleBinding'), {
    roleRef: { kind: 'ClusterRole', name: manifest('ClusterRole').metadata.name },
    subjects: [{ kind: 'ServiceAccount', name: manifest('ServiceAccount').metadata.name }],
  })
  t.strictSame((manifest('ClusterRole') as unknown as { rules: readonly object[] }).rules, [
    { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
  ])
})

await t.test('metrics have a port of their own outside the Kubernetes Service, closed to other pods', async (t) => {
  const { metrics } = parse(manifest('ConfigMap').data['rollcall.yml']!) as { metrics: { address: string } }
  const port = Number(metrics.address.split(':')[1])
  t.match(manifest('Deployment'), {
    spec: {
      template: {
        metadata: {
          annotations: {
            'prometheus.io/scrape': 'true',
            'prometheus.io/port': String(port),
            'prometheus.io/path': '/metrics',
          },
        },
        spec: { containers: [{ ports: [{ name: 'http' }, { name: 'metrics', containerPort: port }] }] },
      },
    },
  })
  t.same((manifest('Service').spec as { ports: readonly object[] }).ports.length, 1)
  type Rule = { readonly from: readonly object[]; readonly ports: readonly { readonly port: number }[] }
  const rules = (manifest('NetworkPolicy').spec as { ingress: readonly Rule[] }).ingress.filter(({ ports }) =>
    ports.some((one) => one.port === port),
  )
  t.match(rules, [{ from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }] }])
  t.equal(rules.length, 1)
})

type Container = {
  readonly image: string
  readonly env: readonly { readonly name: string; readonly value: string }[]
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[]
}
type Pod = { readonly containers: readonly Container[]; readonly volumes: readonly { readonly name: string }[] }
const pod = (manifest('Deployment').spec as { template: { spec: Pod } }).template.spec
const container = pod.containers[0]!

await t.test('a pod has no root, no privileges, a read-only file system and limited memory', async (t) => {
  const user = Number(last('USER').split(':')[0])
  t.match(pod, {
    serviceAccountName: 'rollcall',
    enableServiceLinks: false,
    securityContext: { runAsNonRoot: true, runAsUser: user, seccompProfile: { type: 'RuntimeDefault' } },
  })
  t.match(container, {
    image: `rollcall:${version}`,
    securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
    resources: { requests: { cpu: /./, memory: /./ }, limits: { memory: /./ } },
  })
  t.same(
    container.volumeMounts.map(({ name }) => name),
    pod.volumes.map(({ name }) => name),
  )
  t.match(
    container.volumeMounts.map(({ mountPath }) => mountPath),
    ['/etc/rollcall', '/etc/rollcall-secrets', '/data', '/tmp'],
  )
})

await t.test('the probes use existing routes, and the grace period is long enough for a stop', async (t) => {
  const probe = (path: string) => ({ httpGet: { path, port: 'http' } })
  t.match(container, {
    startupProbe: probe('/livez'),
    livenessProbe: probe('/livez'),
    readinessProbe: probe('/readyz'),
  })
  const service = await startService(t)
  for (const path of ['/livez', '/readyz']) t.equal((await service.request('GET', path)).status, 200)
  const patience = loadConfig({ env: {}, flags: {} }).config.server.shutdown_grace / 1000
  const { terminationGracePeriodSeconds: grace } = pod as unknown as { terminationGracePeriodSeconds: number }
  t.ok(grace >= 5 + patience + 5, `${grace} s for 5 s of preStop, ${patience} s of grace, and room`)
})

await t.test('the configuration of the pod is valid, and its variables are settings', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'rollcall-deploy-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  for (const [name, url] of Object.entries(URLS)) writeFileSync(join(directory, `${name}-url`), `${url}\n`)
  const file = join(directory, 'rollcall.yml')
  /** With the optional signing key, whose lines are comments. */
  const text = manifest('ConfigMap').data['rollcall.yml']!
  writeFileSync(file, text.replaceAll(/^# (history:| +ledger:| +key_file:)/gm, '$1'))
  const settings = container.env.filter(({ name }) => name !== 'ROLLCALL_CONFIG')
  const env = Object.fromEntries(
    settings.map(({ name, value }) => [name, value.replace('/etc/rollcall-secrets', directory)]),
  )
  const { config, warnings } = loadConfig({
    file,
    env: { ...env, ROLLCALL_AUTHENTICATION_METHODS_ORCHESTRATOR_CA_PATH: authorityFile },
  })
  t.same(warnings, [])
  t.match(config, {
    storage: { type: 'cluster' },
    keys: { file: '/etc/rollcall-secrets/keys' },
    history: { ledger: { key_file: '/etc/rollcall-secrets/signing-key.pem' } },
    authentication: { open_on_purpose: [], methods: { orchestrator: { enabled: true } } },
    server: { trust_proxy: false },
  })
  const { allowed, audiences } = config.authentication.methods.orchestrator
  t.ok(audiences.length > 0 && allowed.length > 0)
  for (const { namespace, service_accounts } of allowed)
    t.notOk([namespace, ...service_accounts].includes('*'), 'nobody is everybody')
  for (const name of ['eventstore', 'mongodb', 'redis'] as const) t.equal(config[name].url, URLS[name])
  t.equal(container.env.find(({ name }) => name === 'ROLLCALL_CONFIG')?.value, '/etc/rollcall/rollcall.yml')
})

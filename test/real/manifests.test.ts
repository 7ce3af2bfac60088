import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { leaveOut } from '../crash/rig.ts'
import { eventually } from '../wait.ts'
import { realCluster, skip } from './cluster.ts'
import { type Manifest, manifests, manifestsOf, newAccount, newNamespace, post } from './pods.ts'
import { found, versionOf } from './programs.ts'

const root = resolve(import.meta.dirname, '../../..')
/** Stores nothing and refuses unknown fields. */
const STRICT = '?fieldValidation=Strict&dryRun=All'
const RESTRICTED = {
  'pod-security.kubernetes.io/enforce': 'restricted',
  'pod-security.kubernetes.io/warn': 'restricted',
}

/** Kinds of objects that a release may leave; volume claims of a StatefulSet stay on purpose. */
const EVERY_KIND = [
  '/api/v1/NAMESPACE/services',
  '/api/v1/NAMESPACE/configmaps',
  '/api/v1/NAMESPACE/secrets',
  '/api/v1/NAMESPACE/serviceaccounts',
  '/apis/apps/v1/NAMESPACE/deployments',
  '/apis/apps/v1/NAMESPACE/statefulsets',
  '/apis/policy/v1/NAMESPACE/poddisruptionbudgets',
  '/apis/networking.k8s.io/v1/NAMESPACE/networkpolicies',
  '/apis/rbac.authorization.k8s.io/v1/clusterroles',
  '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
]

type Workload = Manifest & {
  readonly spec?: {
    readonly template?: { readonly spec: { readonly volumes?: readonly object[] } }
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[]
  }
}

/** Pod of a workload with an existing account. */
const podOf = ({ spec }: Workload): Manifest | undefined => {
  if (!spec?.template) return undefined
  const claims = (spec.volumeClaimTemplates ?? []).map(({ metadata: { name } }) => ({
    name,
    persistentVolumeClaim: { claimName: `${name}-tried-0` },
  }))
  const made = spec.template.spec
  const volumes = [...(made.volumes ?? []), ...claims]
  const pod: Workload & { readonly spec: object } = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'tried' },
    spec: { ...made, volumes, serviceAccountName: 'rollcall' } as object,
  }
  return pod
}

await t.test('a real API server accepts the Kubernetes manifests', { skip }, async (t) => {
  const cluster = await realCluster(t)
  t.comment(`kube-apiserver ${versionOf('kube-apiserver')}`)
  for (const name of ['rollcall', 'apps']) await newNamespace(cluster, name, RESTRICTED)
  for (const name of ['web', 'rollcall']) await newAccount(cluster, 'apps', name)
  await newAccount(cluster, 'rollcall', 'rollcall')

  /** Expects all manifests to be accepted, and their pods under Pod Security `restricted`. */
  const taken = async (t: Test, all: readonly Workload[], namespace: string) => {
    for (const manifest of all) {
      const what = `${manifest.kind} ${manifest.metadata.name}`
      const answer = await post(cluster, manifest, namespace, STRICT)
      if (answer === undefined) {
        t.equal(
          manifest.apiVersion,
          'monitoring.coreos.com/v1',
          `${what}: a kind that comes with the operator of Prometheus`,
        )
        continue
      }
      // An account may already exist; only strict parsing is tested.
      const wanted = manifest.kind === 'ServiceAccount' ? [201, 409] : [201]
      t.ok(wanted.includes(answer.status), wanted.includes(answer.status) ? what : `${what}: ${answer.text}`)
      const pod = podOf(manifest)
      if (!pod) continue
      const admitted = await post(cluster, pod, namespace, STRICT)
      t.equal(admitted?.status, 201, `${what}: its pod ${admitted?.status === 201 ? 'is admitted' : admitted?.text}`)
    }
  }

  await t.test('the API server accepts deploy/kubernetes', async (t) => {
    for (const file of readdirSync(join(root, 'deploy/kubernetes')).filter((name) => name.endsWith('.yaml')))
      await taken(t, manifests(`deploy/kubernetes/${file}`), 'rollcall')
  })

  await t.test('the API server accepts the example of a client', (t) =>
    taken(t, manifests('examples/kubernetes-client/client.yaml'), 'apps'),
  )

  await t.test('the API server accepts the chart', async (t) => {
    const helm = found('helm')
    if (helm.skip !== false) return leaveOut(t, helm.skip)
    const chart = join(root, 'deploy/chart')
    const [, guided = ''] = /^```yaml\n(authentication:.*?)^```$/ms.exec(
      readFileSync(join(root, 'docs/guides/kubernetes.md'), 'utf8'),
    )!
    const authentication = `config=${JSON.stringify(parse(guided))}`
    const embedded = ['--set', 'mode=embedded']
    for (const [words, args] of Object.entries({
      'on servers': [],
      embedded,
      'with a service monitor': ['--set', 'metrics.serviceMonitor.enabled=true'],
      'with exchanges': ['--set-json', authentication],
      'embedded, with exchanges': [...embedded, '--set-json', authentication],
    })) {
      const command = [
        'template',
        'tried',
        chart,
        '--namespace',
        'rollcall',
        '--kube-version',
        versionOf('kube-apiserver'),
        ...args,
      ]
      const made = execFileSync(helm.path, command, { encoding: 'utf8' })
      await t.test(words, (t) => taken(t, manifestsOf(made), 'rollcall'))
    }
  })

  await t.test('a chart release keeps its mode and can be removed completely', async (t) => {
    const helm = found('helm')
    if (helm.skip !== false) return leaveOut(t, helm.skip)
    await newNamespace(cluster, 'released')
    const env = { ...process.env, KUBECONFIG: cluster.file('admin.kubeconfig') }
    const exchanges = `config=${JSON.stringify({ authentication: { methods: { orchestrator: { enabled: true, audiences: ['rollcall'], allowed: [{ namespace: 'apps', service_accounts: ['web'] }] } } } })}`
    /** Output of a Helm command, or its error. */
    const says = (verb: string, ...args: readonly string[]): string => {
      const given = [verb, 'rollcall', ...args, '--namespace', 'released']
      const { status, stdout, stderr } = spawnSync(helm.path, given, { encoding: 'utf8', env })
      return status === 0 ? `done: ${stdout}` : stderr
    }
    const chart = join(t.testdir(), 'chart')
    cpSync(join(root, 'deploy/chart'), chart, { recursive: true })
    const about = readFileSync(join(chart, 'Chart.yaml'), 'utf8')
    // An API server built from its module does not know its version.
    writeFileSync(join(chart, 'Chart.yaml'), about.replace(/^kubeVersion: .*$/m, ''))
    const there = async (): Promise<readonly string[]> => {
      const names: string[] = []
      for (const path of EVERY_KIND) {
        const { items } = await cluster.done('GET', path.replace('NAMESPACE', 'namespaces/released'))
        for (const { metadata } of items as readonly Manifest[]) names.push(`${path} ${metadata.name}`)
      }
      return names.toSorted()
    }
    const before = await there()
    for (const [mode, other] of [
      ['servers', 'embedded'],
      ['embedded', 'servers'],
    ] as const) {
      t.match(says('install', chart, '--set-json', exchanges, '--set', `mode=${mode}`), /^done/, `installed: ${mode}`)
      t.ok((await there()).length >= before.length + 6)
      t.match(
        says('upgrade', chart, '--set', `mode=${other}`),
        /this release runs in the other mode: .* move the history first/,
        `from ${mode} to ${other}`,
      )
      t.match(
        says('upgrade', chart, '--set-json', exchanges, '--set', `mode=${mode}`),
        /^done/,
        'and in its own it may',
      )
      t.match(says('uninstall'), /^done/)
      await eventually(async () => (await there()).length === before.length, 'a release to go')
      t.strictSame(await there(), before, 'nothing of it stays')
    }
  })

  await t.test('a field with a spelling mistake is refused', async (t) => {
    const [service] = manifests('deploy/kubernetes/service.yaml')
    const misspelt = { ...service!, spec: { ...(service as Workload).spec, selecter: {} } }
    const answer = await post(cluster, misspelt, 'rollcall', STRICT)
    t.equal(answer?.status, 400)
    t.match(answer?.text, /unknown field \\"spec\.selecter\\"/)
  })
})

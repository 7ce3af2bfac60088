import t from 'tap'
import { refusalOf } from '../http/people.ts'
import { eventually } from '../wait.ts'
import { realCluster, type Signing, skip } from './cluster.ts'
import {
  exchange,
  installed,
  newPod,
  ORCHESTRATOR,
  onCluster,
  reviewed,
  tokenOf,
  VERIFICATIONS,
  type Verification,
} from './pods.ts'
import { versionOf } from './programs.ts'

await t.test('token exchange on a real Kubernetes cluster', { skip }, async (t) => {
  const cluster = await realCluster(t)
  t.comment(`kube-apiserver ${versionOf('kube-apiserver')}`)
  const { tokenPath, renew, own } = await installed(cluster)
  const forUs = { audiences: ['rollcall'] }
  const INVALID = { status: 401, reason: 'service_account_token_invalid' }
  const claimsOf = (token: string) =>
    JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as Record<string, unknown> & {
      readonly exp: number
      readonly iat: number
      readonly jti: string
      readonly 'kubernetes.io': { readonly warnafter?: number }
    }
  const inSeconds = (time: string | undefined) => Date.parse(time!) / 1000

  for (const verification of VERIFICATIONS)
    await t.test(`token exchange with the verification method ${verification}`, async (t) => {
      const service = await onCluster(t, cluster, tokenPath, verification)

      await t.test('the token of a pod is exchanged for a token with only the rights in the manifest', async (t) => {
        const pod = await newPod(cluster, 'apps', 'web')
        const token = await pod.token(forUs)
        const { status, json } = await exchange(service, token)
        t.equal(status, 200)
        t.equal(inSeconds(json.authentication.expiresAt), claimsOf(token).exp)
        const metadata = Object.entries(json.authentication.metadata).map(([key, value]) => [
          key.replace('io.service.auth.orchestrator.', ''),
          value,
        ])
        t.match(Object.fromEntries(metadata), {
          namespace: 'apps',
          'pod.name': pod.name,
          'pod.uid': pod.uid,
          'serviceaccount.name': 'web',
          'serviceaccount.uid': /^[0-9a-f-]{36}$/,
          'credential.id': `JTI=${claimsOf(token).jti}`,
        })
      })

      await t.test('a token of another audience or kind is refused', async (t) => {
        const pod = await newPod(cluster, 'apps', 'web')
        const [head, body, signature] = (await pod.token(forUs)).split('.')
        const changed = Buffer.from(
          JSON.stringify({ ...claimsOf(`.${body}`), sub: 'system:serviceaccount:apps:worker' }),
        ).toString('base64url')
        for (const [what, token] of [
          ['another audience', await pod.token({ audiences: ['other'] })],
          ['every pod has', await pod.token({ seconds: 3607 })],
          ['changed', [head, changed, signature].join('.')],
          ['cut off', [head, body, signature!.slice(0, -4)].join('.')],
        ] as const)
          t.match(refusalOf(await exchange(service, token)), INVALID, what)
      })

      await t.test('200 tokens are exchanged at once', async (t) => {
        const tokens = await Promise.all(Array.from({ length: 200 }, () => tokenOf(cluster, 'apps', 'worker', forUs)))
        const answers = await Promise.all(tokens.map((token) => exchange(service, token)))
        t.strictSame([...new Set(answers.map(({ status }) => status))], [200])
      })

      await t.test('the default token of a pod ends when the cluster intends it', async (t) => {
        const any = await onCluster(t, cluster, tokenPath, verification, { [`${ORCHESTRATOR}.audiences`]: undefined })
        const token = await (await newPod(cluster, 'apps', 'web')).token({ seconds: 3607 })
        const {
          exp,
          'kubernetes.io': { warnafter },
        } = claimsOf(token)
        t.ok(exp - warnafter! > 300 * 86_400, 'the cluster gives it a year')
        const { status, json } = await exchange(any, token)
        t.equal(status, 200)
        t.equal(inSeconds(json.authentication.expiresAt), warnafter)
      })

      await t.test('the result for a token valid ten years has the maximum lifetime', async (t) => {
        const limited = await onCluster(t, cluster, tokenPath, verification, {
          [`${ORCHESTRATOR}.max_lifetime`]: '12h',
        })
        const token = await tokenOf(cluster, 'apps', 'web', { ...forUs, seconds: 10 * 365 * 86_400 })
        const { exp, iat } = claimsOf(token)
        t.ok(exp - iat > 9 * 365 * 86_400)
        const { expiresAt, createdAt } = (await exchange(limited, token)).json.authentication
        t.ok(inSeconds(expiresAt) <= inSeconds(createdAt) + 12 * 3600)
      })

      await t.test('a token from a legacy Secret without expiry is refused', async (t) => {
        const path = '/api/v1/namespaces/apps/secrets'
        const name = `old-${verification.replace('_', '-')}`
        await cluster.done('POST', path, {
          metadata: { name, annotations: { 'kubernetes.io/service-account.name': 'web' } },
          type: 'kubernetes.io/service-account-token',
        })
        const token = await eventually(async () => {
          const { data } = (await cluster.done('GET', `${path}/${name}`)) as { data?: { token?: string } }
          return data?.token && Buffer.from(data.token, 'base64').toString()
        }, 'the token of the secret')
        t.equal(claimsOf(token).exp, undefined)
        t.match(refusalOf(await exchange(service, token)), INVALID)
      })

      await t.test('only a token review refuses the token of a deleted pod', async (t) => {
        const [asked, unasked] = [await newPod(cluster, 'apps', 'web'), await newPod(cluster, 'apps', 'web')]
        const [first, second] = [await asked.token(forUs), await unasked.token(forUs)]
        t.equal((await exchange(service, first)).status, 200)
        await asked.gone()
        await unasked.gone()
        if (verification === 'jwks') {
          t.equal(
            (await exchange(service, second)).status,
            200,
            'is valid until it ends, without a request to the cluster',
          )
          return
        }
        t.match(refusalOf(await exchange(service, second)), INVALID, 'is refused at once')
        // The API server caches approvals for 10 s.
        await eventually(async () => !(await reviewed(cluster, first)).taken, 'the cluster to forget')
        t.match(refusalOf(await exchange(service, first)), INVALID, 'and so is the other')
      })
    })

  await t.test('the audit log of the cluster and the record of the exchange name the same token', async (t) => {
    const service = await onCluster(t, cluster, tokenPath, 'token_review')
    const token = await tokenOf(cluster, 'apps', 'web', { audiences: ['rollcall', cluster.issuer] })
    const { json } = await exchange(service, token)
    const ours = json.authentication.metadata['io.service.auth.orchestrator.credential.id']
    t.match(cluster.audit().at(-1), {
      userAgent: /^rollcall\/\d/,
      user: { username: 'system:serviceaccount:rollcall:rollcall' },
    })
    t.equal((await reviewed(cluster, token, token)).status, 403, 'the account itself may not ask')
    t.match(cluster.audit().at(-1), { user: { extra: { 'authentication.kubernetes.io/credential-id': [ours] } } })
  })

  await t.test('a token is accepted with another signing key, and refused from another issuer', async (t) => {
    const [first] = cluster.signing.keys
    const next = cluster.newKey('second.key', 'ES256')
    const old = await tokenOf(cluster, 'apps', 'web', forUs)
    // Keys are read at most once in 30 s.
    let ahead = 0
    const now = () => new Date(Date.now() + ahead)
    const restart = async (next: Signing) => {
      await cluster.restart(next)
      ahead += 31_000
    }
    const ours = (verification: Verification, settings = {}) =>
      onCluster(t, cluster, tokenPath, verification, settings, now)
    const services = { token_review: await ours('token_review'), jwks: await ours('jwks') }
    const migrating = await ours('jwks', { [`${ORCHESTRATOR}.issuers`]: cluster.issuer })
    const each = async (token: string, status: number, what: string) => {
      for (const verification of VERIFICATIONS)
        t.equal((await exchange(services[verification], token)).status, status, `${verification}: ${what}`)
    }
    await each(old, 200, 'before')

    await restart({ issuers: [cluster.issuer], keys: [next, first!] })
    const rotated = await tokenOf(cluster, 'apps', 'web', forUs)
    t.match(Buffer.from(rotated.split('.')[0]!, 'base64url').toString(), /"ES256"/)
    await each(rotated, 200, 'the new key')
    await each(old, 200, 'the old key')

    const moved = 'https://tokens.example.com'
    await restart({ issuers: [moved, cluster.issuer], keys: [next, first!] })
    await renew()
    const young = await tokenOf(cluster, 'apps', 'web', forUs)
    t.equal(claimsOf(young)['iss'], moved)
    await each(young, 200, 'the new issuer')
    t.equal((await exchange(migrating, old)).status, 200, 'the old issuer, which is listed')
    t.equal((await exchange(migrating, young)).status, 200, 'and the new one')
    t.equal((await exchange(services.token_review, old)).status, 200, 'the cluster accepts the old issuer')
    t.match(refusalOf(await exchange(services.jwks, old)), INVALID, 'and we do not, where it is not listed')

    await restart({ issuers: [moved], keys: [next] })
    t.match(refusalOf(await exchange(services.token_review, old)), INVALID, 'the cluster has forgotten the old ones')
    t.equal((await exchange(services.jwks, await tokenOf(cluster, 'apps', 'web', forUs))).status, 200)
  })

  await t.test('a missing permission for token reviews is reported', async (t) => {
    const binding = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/rollcall-token-review'
    const kept = await cluster.done('GET', binding)
    await cluster.done('DELETE', binding)
    await eventually(async () => (await reviewed(cluster, own(), own())).status === 403, 'the role to be gone')
    const token = await tokenOf(cluster, 'apps', 'web', forUs)
    const review = await onCluster(t, cluster, tokenPath, 'token_review')
    const keys = await onCluster(t, cluster, tokenPath, 'jwks')
    t.match(refusalOf(await exchange(review, token)), { status: 503, reason: 'orchestrator_unavailable' })
    t.match(await review.logged(), /TokenReview answered with status 403/)
    t.equal((await exchange(keys, token)).status, 200, 'keys need no role')
    await cluster.done('POST', binding.replace(/\/[^/]*$/, ''), {
      ...kept,
      metadata: { name: 'rollcall-token-review' },
    })
    await eventually(async () => (await reviewed(cluster, own(), own())).status === 201, 'the role to be there again')
    t.equal((await exchange(review, token)).status, 200)

    const asNobody = await onCluster(t, cluster, cluster.file('tokens.csv'), 'jwks')
    t.match(refusalOf(await exchange(asNobody, token)), { status: 503, reason: 'orchestrator_unavailable' })
    await cluster.done('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      metadata: { name: 'everybody-reads-keys' },
      roleRef: {
        apiGroup: 'rbac.authorization.k8s.io',
        kind: 'ClusterRole',
        name: 'system:service-account-issuer-discovery',
      },
      subjects: [{ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'system:unauthenticated' }],
    })
    const discovery = '/.well-known/openid-configuration'
    await eventually(
      async () => (await cluster.ask('GET', discovery, undefined, '')).status === 200,
      'anonymous access to keys',
    )
    t.equal((await exchange(asNobody, token)).status, 200, 'with a token of ours that the cluster does not know')
  })
})

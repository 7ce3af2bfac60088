import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { clusterStandIn } from '../auth/stand-ins/cluster.ts'
import { clusterSettings, type Issued } from '../http/people.ts'
import { startService } from '../start.ts'

type Client = {
  readonly token: () => Promise<string>
  readonly request: (path: string, init?: RequestInit) => Promise<Response>
}
type Options = { readonly url: string; readonly tokenFile: string; readonly now?: () => number }

const example = resolve(import.meta.dirname, '../../../examples/kubernetes-client/client.mjs')
const { rollcall } = (await import(example)) as { rollcall: (options: Options) => Client }

const world = async (t: Test, now: () => number = Date.now) => {
  const cluster = await clusterStandIn(t)
  const service = await startService(
    t,
    { ...clusterSettings(cluster), 'authentication.methods.orchestrator.audiences': 'rollcall' },
    { now: () => new Date(now()) },
  )
  const folder = await mkdtemp(join(tmpdir(), 'pod-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const tokenFile = join(folder, 'token')
  const exchanges = () => cluster.asked.length
  /** Replaces the token file like the kubelet. */
  const rotate = async (seconds: number) => {
    const exp = Math.floor(now() / 1000) + seconds
    await writeFile(tokenFile, await cluster.token({ claims: { aud: ['rollcall'], exp } }))
  }
  await rotate(1000)
  return { cluster, service, folder, tokenFile, exchanges, rotate }
}

await t.test('the example client reads its token file again and exchanges it before expiresAt', async (t) => {
  // A whole second, like token times; lifetimes of 1,000 seconds count from it.
  const begin = Math.ceil(Date.now() / 1000) * 1000
  let passed = 0
  const now = () => begin + passed
  const { service, tokenFile, exchanges, rotate, cluster } = await world(t, now)
  const client = rollcall({ url: service.url, tokenFile, now })
  const works = async () => (await client.request('/auth/v1/self')).status

  const [first, same] = await Promise.all([client.token(), client.token()])
  t.equal(first, same)
  t.equal(exchanges(), 1, 'who asks at once shares one exchange')
  t.equal(await works(), 200)
  passed = 800_000
  await rotate(1000)
  passed = 849_999
  t.equal(await client.token(), first, 'not before 15 % of its life are left')
  t.equal(exchanges(), 1)
  passed = 850_000
  const second = await client.token()
  t.not(second, first)
  t.equal(exchanges(), 2)
  passed = 1_000_000
  t.equal(await works(), 200, 'works although the first token has expired')

  // The second token, exchanged at 850 s, ends at 1,800 s; 15 % remain from 1,657.5 s on.
  passed = 1_657_499
  t.equal(await client.token(), second)
  t.equal(exchanges(), 2)
  passed = 1_657_500
  cluster.bearer = 'the cluster does not know the service any more'
  t.equal(await client.token(), second, 'a failed exchange changes nothing while the token is good')
  const tried = exchanges()
  t.ok(tried > 2)
  passed = 1_667_499
  t.equal(await client.token(), second)
  t.equal(exchanges(), tried, 'and is not repeated for ten seconds')
  passed = 1_667_500
  t.equal(await client.token(), second)
  t.ok(exchanges() > tried, 'then it is')
  passed = 1_900_000
  await rotate(1000)
  await t.rejects(client.token(), { message: /^the exchange answered 503/ })
})

await t.test('the example client replaces a revoked client token once', async (t) => {
  const { service, tokenFile, exchanges } = await world(t)
  const client = rollcall({ url: service.url, tokenFile })
  const self = async () => (await (await client.request('/auth/v1/self')).json()) as Issued['authentication']
  const { id } = await self()
  await service.request('POST', '/auth/v1/tokens/revoke', { method: 'METHOD_ORCHESTRATOR', identity: 'apps/web' })
  t.not((await self()).id, id)
  t.equal(exchanges(), 2)
  await service.request('DELETE', `/auth/v1/tokens/${(await self()).id}`)
  await writeFile(tokenFile, 'junk')
  await t.rejects(self(), { message: /^the exchange answered 401: verifying service account: / })
})

await t.test('the example client runs unchanged with a symbolic link as its token file', async (t) => {
  const { service, folder, tokenFile } = await world(t)
  const flags = '/api/v1/namespaces/default/flags'
  await service.request('POST', flags, { key: 'checkout', name: 'Checkout', type: 'BOOLEAN_FLAG_TYPE', enabled: true })
  await symlink(example, join(folder, 'client.mjs'))
  const env = { ...process.env, NODE_OPTIONS: '', ROLLCALL_URL: service.url, TOKEN_FILE: tokenFile, FLAG: 'checkout' }
  const child = spawn(process.execPath, [join(folder, 'client.mjs')], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill())
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  t.equal(line.toString(), 'checkout is on (DEFAULT_EVALUATION_REASON)\n')
})

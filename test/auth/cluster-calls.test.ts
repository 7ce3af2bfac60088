import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import tls from 'node:tls'
import t from 'tap'
import { providerFetch } from '../../src/auth/outgoing/provider-fetch.ts'
import { cluster as callTo } from '../../src/auth/service-accounts/cluster.ts'
import type { OrchestratorSettings } from '../../src/auth/service-accounts/orchestrator.ts'
import { Refusal } from '../../src/base/errors.ts'
import { virtualClock } from '../virtual-clock.ts'
import { directly } from './directly.ts'
import { begin, open } from './on-cluster.ts'
import { type Answer, json } from './stand-ins/listen.ts'

const REVIEWS = '/apis/authentication.k8s.io/v1/tokenreviews'
const DOCUMENT = '/.well-known/openid-configuration'
const WAYS = ['token_review', 'jwks'] as const

const causeOf = async (work: Promise<unknown>): Promise<string> => {
  const error = await work.then(
    () => undefined,
    (error: unknown) => error,
  )
  return error instanceof Refusal && error.cause instanceof Error ? error.cause.message : String(error)
}
const meant = (warnafter: unknown) => ({
  'kubernetes.io': { namespace: 'apps', serviceaccount: { name: 'web', uid: 'uid-of-account' }, warnafter },
})

for (const verification of WAYS) {
  await t.test(`${verification}: an exchanged token ends at exp, warnafter or the maximum, if earlier`, async (t) => {
    const cluster = await begin(t)
    const now = cluster.seconds()
    const endOf = async (claims: object, more: Partial<OrchestratorSettings> = {}) => {
      const { verify } = open(cluster, { verification, ...more })
      const { expiresAt } = await verify(await cluster.token({ claims: claims as Record<string, unknown> }), '::1')
      return expiresAt.getTime() / 1000 - now
    }
    const YEAR = 31_536_000
    t.equal(await endOf({ exp: now + YEAR, ...meant(now + 3_607) }), 3_607, 'the token that every pod has')
    t.equal(await endOf({ exp: now + 600, ...meant(now + 3_607) }), 600)
    for (const senseless of [undefined, null, '3607', 'soon', Number.MAX_VALUE])
      t.equal(await endOf({ exp: now + YEAR, ...meant(senseless) }), YEAR, String(senseless))
    t.equal(await endOf({ exp: now + YEAR }, { maxLifetime: 86_400_000 }), 86_400)
    t.equal(await endOf({ exp: now + 60 }, { maxLifetime: 86_400_000 }), 60)
    await t.rejects(endOf({ exp: now + YEAR, ...meant(now) }), { message: /token has expired/ })
  })

  await t.test(`${verification}: white space around a service account token is ignored`, async (t) => {
    const cluster = await begin(t)
    const { verify } = open(cluster, { verification })
    const token = await cluster.token()
    for (const given of [`${token}\n`, `${token}\r\n`, `  ${token} `]) t.equal((await verify(given, '::1')).name, 'web')
  })

  await t.test(`${verification}: a file that cannot be read or is empty is reported with its path`, async (t) => {
    const cluster = await begin(t)
    const token = await cluster.token()
    const cause = async (more: Partial<OrchestratorSettings>) =>
      causeOf(open(cluster, { verification, ...more }).verify(token, '::1'))
    t.equal(
      await cause({ caPath: '/nowhere/ca.crt' }),
      'the certificate authority /nowhere/ca.crt cannot be read (ENOENT)',
    )
    const empty = `${cluster.caPath}.empty`
    await writeFile(empty, '\n')
    t.equal(await cause({ caPath: empty }), `the certificate authority ${empty} is empty`)
    if (verification === 'jwks') return
    t.equal(await cause({ tokenPath: '/nowhere/token' }), 'the token file /nowhere/token cannot be read (ENOENT)')
    t.equal(await cause({ tokenPath: empty }), `the token file ${empty} is empty`)
  })
}

await t.test('200 concurrent token exchanges succeed over 10 connections', async (t) => {
  const cluster = await begin(t)
  const { verify } = open(cluster)
  const tokens = await Promise.all(Array.from({ length: 200 }, () => cluster.token()))
  const names = await Promise.all(tokens.map(async (token) => (await verify(token, '::1')).name))
  t.strictSame(new Set(names), new Set(['web']))
  t.ok(cluster.connections <= 10, `${cluster.connections} connections`)
})

await t.test('a call is repeated once if its idle connection was closed, and never on a new connection', async (t) => {
  const cluster = await begin(t)
  const { verify } = open(cluster)
  await verify(await cluster.token(), '::1')
  const closing: Answer = (response) => {
    cluster.lies = {}
    response.destroy()
  }
  cluster.lies = { [REVIEWS]: closing }
  t.equal((await verify(await cluster.token(), '::1')).name, 'web')
  t.equal(cluster.connections, 2)
  cluster.lies = { [REVIEWS]: (response) => void response.destroy() }
  t.match(await causeOf(verify(await cluster.token(), '::1')), /ECONNRESET/)
  const fresh = open(cluster)
  cluster.lies = { [REVIEWS]: closing }
  t.match(await causeOf(fresh.verify(await cluster.token(), '::1')), /ECONNRESET/)
})

await t.test('jwks: a new issuer of the cluster is accepted, and so is the configured former one', async (t) => {
  const cluster = await begin(t)
  const before = cluster.issuer
  const { verify } = open(cluster, { verification: 'jwks' })
  const migrating = open(cluster, { verification: 'jwks', issuers: [before] })
  const old = await cluster.token()
  t.equal((await verify(old, '::1')).name, 'web')
  cluster.issuer = 'https://issuer.example'
  t.equal((await verify(await cluster.token(), '::1')).name, 'web', 'the document is read again at once')
  await t.rejects(verify(old, '::1'), { message: /verifying service account/ })
  t.equal((await migrating.verify(old, '::1')).name, 'web')
  t.equal((await migrating.verify(await cluster.token(), '::1')).name, 'web')
  const reads = () => cluster.asked.filter(({ path }) => path === DOCUMENT).length
  const count = reads()
  for (let n = 0; n < 5; n++) await t.rejects(verify(old, '::1'))
  t.equal(reads(), count, 'and at most once in 30 s')
})

await t.test('jwks: after a failed read there is a pause of 30 s, and cached keys stay valid', async (t) => {
  const cluster = await begin(t)
  const { verify } = open(cluster, { verification: 'jwks' })
  const known = await cluster.token()
  t.equal((await verify(known, '::1')).name, 'web')
  const reads = () => cluster.asked.filter(({ path }) => path === DOCUMENT).length
  const unknown = await cluster.token({ key: (await cluster.newKey()).privateKey, header: { kid: 'unknown' } })
  cluster.lies = { [DOCUMENT]: json(503, {}) }
  for (let n = 0; n < 5; n++) t.match(await causeOf(verify(unknown, '::1')), /status 503/)
  t.equal(reads(), 2)
  t.equal((await verify(known, '::1')).name, 'web')
  cluster.lies = {}
  await cluster.clock.advance(30_000)
  await t.rejects(verify(unknown, '::1'), { message: /verifying service account/ })
  t.equal(reads(), 3)
})

await t.test('jwks: if the cluster refuses the bearer token, the request is repeated without it', async (t) => {
  const cluster = await begin(t)
  const honest = { issuer: cluster.issuer, jwks_uri: `${cluster.url}/openid/v1/jwks` }
  for (const status of [401, 403]) {
    const guarded: Answer = (response) =>
      response.req.headers.authorization === undefined ? json(200, honest)(response) : json(status, {})(response)
    cluster.lies = { [DOCUMENT]: guarded }
    t.equal((await open(cluster, { verification: 'jwks' }).verify(await cluster.token(), '::1')).name, 'web')
  }
  cluster.lies = { [DOCUMENT]: json(403, {}) }
  const { verify } = open(cluster, { verification: 'jwks' })
  t.match(await causeOf(verify(await cluster.token(), '::1')), /status 403/)
})

await t.test('every call to the cluster has the configured User-Agent', async (t) => {
  const cluster = await begin(t)
  for (const verification of WAYS) await open(cluster, { verification }).verify(await cluster.token(), '::1')
  t.ok(cluster.asked.length >= 3)
  t.strictSame(new Set(cluster.asked.map(({ agent }) => agent)), new Set(['rollcall/1.2.3']))

  const agents: (string | undefined)[] = []
  const server = createServer((request, response) => {
    agents.push(request.headers['user-agent'])
    response.end('{}')
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const ask = providerFetch({ ...directly, clock: virtualClock(), userAgent: 'rollcall/1.2.3' })
  await ask('keys', url, { method: 'GET', headers: { 'user-agent': 'a-library/9' } })
  await ask('keys', url, { method: 'GET', headers: {} })
  t.strictSame(agents, ['rollcall/1.2.3', 'rollcall/1.2.3'])
})

await t.test('the CA file applies to the cluster only, and other servers use the CAs of the system', async (t) => {
  const [own, elsewhere] = [await begin(t), await begin(t)]
  const trusted = async (list: readonly string[], caPath: string) => {
    const { getCACertificates: before } = tls as { readonly getCACertificates?: unknown }
    Object.assign(tls, { getCACertificates: () => list })
    t.teardown(() => {
      if (before === undefined) Reflect.deleteProperty(tls, 'getCACertificates')
      else Object.assign(tls, { getCACertificates: before })
    })
    const call = callTo({ ...directly, ...own, discoveryUrl: own.url, caPath, userAgent: 'rollcall/1.2.3' })
    const ask = async (url: string) => {
      try {
        return (await call({ url: `${url}${DOCUMENT}`, method: 'GET', bearer: 'none' })).status
      } catch (error) {
        return (error as Refusal).reason
      }
    }
    return [await ask(own.url), await ask(elsewhere.url)]
  }
  const list = [await readFile(elsewhere.caPath, 'utf8')]
  t.strictSame(await trusted(list, own.caPath), [200, 200])
  t.strictSame(await trusted([], own.caPath), [200, 'orchestrator_unavailable'])
  t.strictSame(await trusted([await readFile(own.caPath, 'utf8')], elsewhere.caPath), ['orchestrator_unavailable', 200])
})

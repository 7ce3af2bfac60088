import { readFile, writeFile } from 'node:fs/promises'
import tls from 'node:tls'
import t, { type Test } from 'tap'
import { codehost } from '../../src/auth/codehost/codehost.ts'
import { freshSecrets } from '../../src/auth/identity.ts'
import { trustIn } from '../../src/auth/outgoing/authority.ts'
import { plainHttp, proxyFor } from '../../src/auth/outgoing/hosts.ts'
import { outgoing, type Reach } from '../../src/auth/outgoing/outgoing.ts'
import { Refusal, whyOf } from '../../src/base/errors.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { client, patient } from './at-provider.ts'
import { directly } from './directly.ts'
import { begin as beginCluster, open } from './on-cluster.ts'
import { privateAuthority } from './stand-ins/authority.ts'
import { codehostClient, codehostStandIn } from './stand-ins/codehost.ts'
import { lyingProvider } from './stand-ins/liar.ts'
import { deadUrl, json, listen, type Scope, silence } from './stand-ins/listen.ts'
import { proxyStandIn } from './stand-ins/proxy.ts'

/** Host names that only the proxy can resolve. */
const ID = 'id.corp.example'
const CODE = 'code.corp.example'
const PASSWORD = 'canary p@ss:word'
const WELL_KNOWN = '/.well-known/openid-configuration'

const through = (proxy: string): Pick<Reach, 'proxyOf'> => ({ proxyOf: proxyFor({ own: proxy, except: [] }) })
const withName = (proxy: string, name = 'rollcall') =>
  proxy.replace('://', `://${name}:${encodeURIComponent(PASSWORD)}@`)

type Whom = {
  /** Host and port of its address. */
  readonly host: string
  readonly caPath: string
  /** Makes all calls of one login or exchange, and returns the identity. */
  readonly come: (reach: Partial<Reach>) => Promise<string>
  /** Its name in refusals. */
  readonly reason: string
}

/** Each target of outgoing calls, over TLS with an unresolvable host name; the cluster by its address. */
const whom: Readonly<Record<string, (t: Test) => Promise<Whom>>> = {
  provider: async (t) => {
    const { caPath, certificateOf } = await privateAuthority(t)
    const liar = await lyingProvider(t, await certificateOf(ID))
    const come = async (reach: Partial<Reach>) => {
      const provider = client(liar.url, reach)
      const secrets = freshSecrets()
      const { searchParams: query } = liar.authorized(await provider.begin(secrets))
      const { subject } = await provider.finish({ ...secrets, query })
      t.strictSame([...new Set(liar.agents)], ['rollcall/1.2.3'])
      return subject.sub
    }
    return { host: new URL(liar.url).host, caPath, come, reason: 'provider_unavailable' }
  },
  'code host': async (t) => {
    const { caPath, certificateOf } = await privateAuthority(t)
    const host = await codehostStandIn(t, 'github', await certificateOf(CODE))
    const come = async (reach: Partial<Reach>) => {
      const way = codehost({
        ...directly,
        clock: virtualClock(),
        userAgent: 'rollcall/1.2.3',
        kind: 'github',
        serverUrl: host.url,
        apiUrl: `${host.url}/api`,
        ...codehostClient,
        redirectAddress: 'https://flags.example.com',
        callbackPath: '/callback',
        scopes: ['read:org'],
        parameters: {},
        allowedOrganizations: [],
        allowedTeams: {},
        ...reach,
      })
      const secrets = freshSecrets()
      const { searchParams: query } = host.authorized(await way.begin(secrets))
      return (await way.finish({ ...secrets, query })).attributes['codehost.preferred_username']!
    }
    return { host: new URL(host.url).host, caPath, come, reason: 'provider_unavailable' }
  },
  cluster: async (t) => {
    const cluster = await beginCluster(t)
    const come = async (reach: Partial<Reach>) => (await open(cluster, reach).verify(await cluster.token(), '::1')).name
    return { host: new URL(cluster.url).host, caPath: cluster.caPath, come, reason: 'orchestrator_unavailable' }
  },
}
const WHO: Readonly<Record<string, string>> = { provider: 'alice', 'code host': 'alice', cluster: 'web' }

/** Cause of an unreachable target. Asserts that it does not contain the password. */
const causeOf = async (t: Test, { come, reason }: Whom, reach: Partial<Reach>): Promise<string> => {
  const error = await come(reach).then(
    () => undefined,
    (error: unknown) => error,
  )
  t.equal(error instanceof Refusal && error.reason, reason)
  const why = whyOf(error) ?? ''
  for (const secret of ['canary', encodeURIComponent(PASSWORD), Buffer.from(PASSWORD).toString('base64').slice(0, 12)])
    t.notOk(why.includes(secret), why)
  // For providers the cause contains the step and the host as well.
  return why.replace(/^\S[^:]* at [^ ]+: /, '')
}

for (const [name, make] of Object.entries(whom)) {
  await t.test(`the service calls the ${name} through a proxy`, async (t) => {
    const it = await make(t)
    const authority = await privateAuthority(t)
    const secure = await authority.certificateOf('127.0.0.1')
    for (const [kind, proxy] of [
      ['http', await proxyStandIn(t)],
      ['https', await proxyStandIn(t, secure)],
    ] as const)
      await t.test(kind, async (t) => {
        const both = `${it.caPath}.${kind}`
        await writeFile(both, `${await readFile(it.caPath, 'utf8')}\n${authority.cert}`)
        const reach = { caPath: both }
        t.equal(await it.come({ ...reach, ...through(proxy.url) }), WHO[name])
        t.ok(proxy.asked.length > 0)
        for (const asked of proxy.asked)
          t.strictSame(asked, {
            method: 'CONNECT',
            place: it.host,
            agent: 'rollcall/1.2.3',
            authorization: undefined,
          })
        proxy.credentials = `rollcall:${PASSWORD}`
        t.equal(await it.come({ ...reach, ...through(withName(proxy.url)) }), WHO[name], 'that wants a password')
      })
  })

  await t.test(`${name}: a failure of the proxy is reported without its password`, async (t) => {
    const it = await make(t)
    const proxy = await proxyStandIn(t)
    const { caPath } = it
    const why = (to: string) => causeOf(t, it, { caPath, ...through(to) })
    proxy.credentials = 'somebody:else'
    t.equal(await why(withName(proxy.url)), `the proxy ${proxy.host} answered with status 407`)
    t.equal(await why(proxy.url), `the proxy ${proxy.host} answered with status 407`)
    proxy.credentials = undefined
    for (const status of [301, 403, 404, 500, 502, 503]) {
      proxy.lie = `HTTP/1.1 ${status} No\r\ncontent-length: 6\r\n\r\ncanary`
      t.equal(await why(withName(proxy.url)), `the proxy ${proxy.host} answered with status ${status}`)
    }
    proxy.lie = 'canary, and no HTTP\r\n\r\n'
    t.match(await why(withName(proxy.url)), new RegExp(`^the proxy ${proxy.host} cannot be reached \\(HPE_[A-Z_]+\\)$`))
    const dead = await deadUrl()
    t.equal(await why(withName(dead)), `the proxy ${new URL(dead).host} cannot be reached (ECONNREFUSED)`)
    const impostor = await proxyStandIn(t, await (await privateAuthority(t)).certificateOf('127.0.0.1'))
    t.match(
      await why(withName(impostor.url)),
      new RegExp(`^the proxy ${impostor.host} cannot be reached \\([A-Z_]+\\)$`),
    )
    t.strictSame(impostor.asked, [], 'a proxy that nobody vouches for hears nothing')
  })

  await t.test(`${name}: a certificate of the configured authority is accepted`, async (t) => {
    const it = await make(t)
    const proxy = await proxyStandIn(t)
    const path = through(proxy.url)
    t.match(
      await causeOf(t, it, { ...path, caPath: undefined }),
      /UNABLE_TO_VERIFY_LEAF_SIGNATURE|DEPTH_ZERO_SELF_SIGNED_CERT/,
    )
    t.equal(await it.come({ ...path, caPath: it.caPath }), WHO[name])
    const other = await privateAuthority(t)
    const rotated = `${it.caPath}.rotated`
    await writeFile(rotated, other.cert)
    const reach = { ...path, caPath: rotated }
    t.match(await causeOf(t, it, reach), /[A-Z_]+/)
    t.equal(
      await causeOf(t, it, { ...path, caPath: '/nowhere/ca.crt' }),
      'the certificate authority /nowhere/ca.crt cannot be read (ENOENT)',
    )
    await writeFile(rotated, await readFile(it.caPath, 'utf8'))
    t.equal(await it.come(reach), WHO[name])
  })
}

/** Replaces the system's certificate authorities until the test ends. */
const systemTrusts = (t: Scope, list: readonly string[]) => {
  const { getCACertificates: before } = tls as { readonly getCACertificates?: unknown }
  Object.assign(tls, { getCACertificates: () => list })
  t.teardown(() => {
    if (before === undefined) Reflect.deleteProperty(tls, 'getCACertificates')
    else Object.assign(tls, { getCACertificates: before })
  })
}

/** Makes calls like those to a provider. */
const asking = (reach: Partial<Reach>, clock = virtualClock()) => {
  const { caPath, ...rest } = { ...directly, ...reach }
  const ask = outgoing({ ...rest, clock, userAgent: 'rollcall/1.2.3', limit: 5_000, trust: trustIn(caPath) })
  return {
    clock,
    get: async (url: string) => (await ask({ url, method: 'GET', headers: {}, repeatable: true })).status,
    ask,
  }
}

await t.test('the configured authority is trusted in addition to those of the system', async (t) => {
  const [own, known] = [await privateAuthority(t), await privateAuthority(t)]
  const answer = (_: unknown, response: Parameters<ReturnType<typeof json>>[0]) => json(200, {})(response)
  const inside = await listen(t, answer, await own.certificateOf('127.0.0.1'))
  const outside = await listen(t, answer, await known.certificateOf('127.0.0.1'))
  systemTrusts(t, [known.cert])
  const { get } = asking({ caPath: own.caPath })
  t.strictSame([await get(inside), await get(outside)], [200, 200])
  systemTrusts(t, [])
  const alone = asking({ caPath: own.caPath })
  t.equal(await alone.get(inside), 200)
  await t.rejects(alone.get(outside), { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' })
})

await t.test('a certificate for a different host name is refused, also through a proxy', async (t) => {
  const authority = await privateAuthority(t)
  const url = await listen(t, (_, response) => void response.end(), {
    ...(await authority.certificateOf('other.corp.example')),
    name: ID,
  })
  const { get } = asking({ caPath: authority.caPath, ...through((await proxyStandIn(t)).url) })
  await t.rejects(get(url), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
})

await t.test('connections to the proxy are used again, and reopened after they end', async (t) => {
  const authority = await privateAuthority(t)
  const proxy = await proxyStandIn(t)
  const url = await listen(t, (_, response) => json(200, {})(response), await authority.certificateOf(ID))
  const { clock, get, ask } = asking({ caPath: authority.caPath, ...through(proxy.url) })
  for (let n = 0; n < 3; n++) {
    t.equal(await get(url), 200)
    await clock.advance(6_000)
  }
  t.equal(proxy.asked.length, 1)
  for (const tunnel of proxy.tunnels) tunnel.destroy()
  t.equal(await get(url), 200)
  t.equal(proxy.asked.length, 2)
  await ask({ url, method: 'POST', headers: {}, body: 'x', repeatable: false })
  await ask({ url, method: 'POST', headers: {}, body: 'x', repeatable: false })
  t.equal(proxy.asked.length, 4, 'what must not be sent twice has a connection of its own')
})

await t.test('a proxy that does not answer delays a call at most by the timeout', async (t) => {
  const proxy = await proxyStandIn(t)
  proxy.lie = ''
  const { clock, get } = asking(through(proxy.url))
  const asked = get(`https://${ID}`)
  const failed = t.rejects(asked, { message: `the proxy ${proxy.host} does not answer` })
  await eventually(() => proxy.asked.length > 0, 'the proxy')
  await clock.advance(5_000)
  await failed
  t.strictSame(clock.waiting(), [])
})

await t.test('a server behind a proxy that does not answer delays a call at most by the timeout', async (t) => {
  const proxy = await proxyStandIn(t)
  const authority = await privateAuthority(t)
  const url = await listen(t, (_, response) => silence(response), await authority.certificateOf(ID))
  const { clock, get } = asking({ caPath: authority.caPath, ...through(proxy.url) })
  const failed = t.rejects(get(url), { name: 'TimeoutError' })
  await eventually(() => proxy.tunnels.size > 0, 'the connection')
  await clock.advance(5_000)
  await failed
})

await t.test('over plain http the proxy receives the absolute URL', async (t) => {
  const authority = await privateAuthority(t)
  const seen: unknown[] = []
  const url = await listen(t, ({ url: path, headers }, response) => {
    seen.push([path, headers.host, headers['proxy-authorization'], headers['user-agent']])
    json(200, {})(response)
  })
  const named = url.replace('127.0.0.1', ID)
  for (const proxy of [await proxyStandIn(t), await proxyStandIn(t, await authority.certificateOf('127.0.0.1'))]) {
    proxy.credentials = `rollcall:${PASSWORD}`
    const reach = { ...through(withName(proxy.url)), mayBeHttp: plainHttp([ID]), caPath: authority.caPath }
    t.equal(await asking(reach).get(`${named}/realms/x?a=b`), 200)
    t.strictSame(proxy.asked, [
      {
        method: 'GET',
        place: `${named}/realms/x?a=b`,
        agent: 'rollcall/1.2.3',
        authorization: `Basic ${Buffer.from(`rollcall:${PASSWORD}`).toString('base64')}`,
      },
    ])
    t.strictSame(seen.splice(0), [['/realms/x?a=b', new URL(named).host, undefined, 'rollcall/1.2.3']])
  }
})

await t.test('plain http is used only for loopback and listed hosts', async (t) => {
  const proxy = await proxyStandIn(t)
  const url = await listen(t, (_, response) => json(200, {})(response))
  const port = new URL(url).port
  const { get } = asking({ ...through(proxy.url), mayBeHttp: plainHttp([ID, '10.0.0.0/8']) })
  for (const host of ['127.0.0.1', 'localhost', ID, '10.1.2.3']) t.equal(await get(`http://${host}:${port}`), 200, host)
  const asked = proxy.asked.length
  for (const host of [CODE, `sub.${ID}`, '192.168.0.1', '203.0.113.7', '[fd00::1]'])
    await t.rejects(get(`http://${host}:${port}`), { message: /is not called over plain http/ }, host)
  for (const other of ['ftp://127.0.0.1', 'file:///etc/passwd'])
    await t.rejects(get(other), { message: /not called/ }, other)
  t.equal(proxy.asked.length, asked)
})

await t.test('the discovery document at the configured URL must name the configured issuer', async (t) => {
  const liar = await lyingProvider(t)
  const issuer = `https://${ID}/realms/main`
  const honest = {
    issuer,
    authorization_endpoint: `https://${ID}/authorize`,
    token_endpoint: `${liar.url}/token`,
    jwks_uri: `${liar.url}/keys`,
  }
  liar.lies = { document: honest, claims: { iss: issuer } }
  const login = async (discoveryUrl: string) => {
    const provider = client(issuer, { discoveryUrl })
    const secrets = freshSecrets()
    const { searchParams: query } = liar.authorized(await provider.begin(secrets))
    return provider.finish({ ...secrets, query })
  }
  for (const at of ['', '/', WELL_KNOWN, `${WELL_KNOWN}?appid=7`])
    t.strictSame((await login(liar.url + at)).subject, { issuer, sub: 'alice' }, at)
  t.strictSame(
    liar.asked.filter((path) => path !== '/token' && path !== '/keys'),
    [WELL_KNOWN, WELL_KNOWN, WELL_KNOWN, WELL_KNOWN],
  )
  for (const [name, document, why] of [
    ['that of the address', { issuer: liar.url }, /names an issuer that differs from issuer_url in its scheme$/],
    ['a template', { issuer: `https://${ID}/realms/{tenantid}` }, /in its tenant, which is a placeholder$/],
    ['none', { issuer: undefined }, /no usable issuer$/],
    ['a key set in plain http elsewhere', { jwks_uri: `http://${CODE}/keys` }, /no usable jwks_uri$/],
    [
      'a token endpoint in plain http elsewhere',
      { token_endpoint: 'http://10.0.0.1/token' },
      /no usable token_endpoint$/,
    ],
  ] as const) {
    liar.lies = { document: { ...honest, ...document } }
    const error = await login(liar.url).catch((error: unknown) => error)
    t.match(error, { reason: 'provider_mismatch' }, name)
    t.match(whyOf(error), why, name)
  }
})

await t.test('plain http endpoints in an https discovery document are refused, also a template issuer', async (t) => {
  const { caPath, certificateOf } = await privateAuthority(t)
  const proxy = await proxyStandIn(t)
  const reach = { caPath, ...through(proxy.url), clock: patient }
  const liar = await lyingProvider(t, await certificateOf(ID))
  for (const endpoint of ['token_endpoint', 'jwks_uri', 'authorization_endpoint']) {
    liar.lies = { document: { [endpoint]: 'http://127.0.0.1/x' } }
    const error = await client(liar.url, reach)
      .begin(freshSecrets())
      .catch((error: unknown) => error)
    t.equal(whyOf(error), `the discovery document has no usable ${endpoint}`)
  }
  const tenants = await lyingProvider(t, await certificateOf('login.microsoftonline.com'))
  const template = { issuer: 'https://login.microsoftonline.com/{tenantid}/v2.0' }
  tenants.lies = { document: template }
  const error = await client(`${tenants.url}/common/v2.0`, reach)
    .begin(freshSecrets())
    .catch((error: unknown) => error)
  t.match(error, { reason: 'provider_mismatch' })
  t.strictSame(tenants.asked, ['/common/v2.0/.well-known/openid-configuration'])
})

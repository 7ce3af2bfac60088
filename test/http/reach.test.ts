import { readFile, writeFile } from 'node:fs/promises'
import t, { type Test } from 'tap'
import { privateAuthority } from '../auth/stand-ins/authority.ts'
import { clusterStandIn } from '../auth/stand-ins/cluster.ts'
import { codehostStandIn } from '../auth/stand-ins/codehost.ts'
import { lyingClient, lyingProvider } from '../auth/stand-ins/liar.ts'
import { proxyStandIn } from '../auth/stand-ins/proxy.ts'
import { type Started, startService } from '../start.ts'
import {
  begin,
  CODEHOST,
  clusterSettings,
  codehostSettings,
  comeBack,
  EXCHANGE,
  OIDC,
  oidcSettings,
  open,
  PUBLIC,
  type Settings,
} from './people.ts'

const M = 'authentication.methods'
const PASSWORD = 'canary-p%40ss'

/**
 * Company network: a proxy with password, a certificate authority, and providers whose names only the proxy resolves.
 */
const company = async (t: Test) => {
  const { caPath, certificateOf } = await privateAuthority(t)
  const proxy = await proxyStandIn(t)
  proxy.credentials = 'rollcall:canary-p@ss'
  const liar = await lyingProvider(t, await certificateOf('id.corp.example'))
  const host = await codehostStandIn(t, 'github', await certificateOf('code.corp.example'))
  const cluster = await clusterStandIn(t)
  const settings: Settings = {
    'server.public_url': PUBLIC,
    ...oidcSettings('main', liar.url, lyingClient),
    ...codehostSettings(host.url),
    ...clusterSettings(cluster),
    [`${M}.oidc.providers.main.ca_path`]: caPath,
    [`${M}.codehost.ca_path`]: caPath,
  }
  const url = proxy.url.replace('://', `://rollcall:${PASSWORD}@`)
  /** Signs in at the provider and the code host and exchanges a token; returns the status codes. */
  const enter = async (service: Started) => {
    const login = async (path: string, at: Pick<typeof liar, 'authorized'>) => {
      const { authorizeUrl, cookie } = await begin(service, path)
      const { searchParams } = at.authorized(authorizeUrl)
      return (await comeBack(service, path, searchParams, { cookie, accept: 'application/json' })).status
    }
    const exchange = async () =>
      (await service.request('POST', EXCHANGE, { service_account_token: await cluster.token() }, open)).status
    return [await login(OIDC, liar), await login(CODEHOST, host), await exchange()]
  }
  return { proxy, url, liar, host, cluster, settings, enter }
}

/** Expects the password of the proxy neither in /meta/config nor in the log. */
const tellsNothing = async (t: Test, service: Started) => {
  const shown = await service.request('GET', '/meta/config')
  t.equal(shown.status, 200)
  const log = await service.logged()
  for (const text of [shown.text, log]) {
    t.ok(text.length > 0)
    t.notMatch(text, /canary-p/)
  }
}

await t.test('each outgoing connection has its own proxy and authority', async (t) => {
  const { proxy, url, cluster, settings, enter } = await company(t)
  const service = await startService(t, {
    ...settings,
    [`${M}.oidc.providers.main.proxy`]: url,
    [`${M}.codehost.proxy`]: url,
    [`${M}.orchestrator.proxy`]: url,
  })
  t.strictSame(await enter(service), [200, 200, 200])
  const places = new Set(proxy.asked.map(({ place }) => place.replace(/:\d+$/, '')))
  t.strictSame([...places].sort(), ['127.0.0.1', 'code.corp.example', 'id.corp.example'])
  t.equal(cluster.connections, proxy.asked.filter(({ place }) => place.startsWith('127.')).length)
  proxy.credentials = 'rollcall:another'
  const { status } = await service.request('POST', EXCHANGE, { service_account_token: await cluster.token() }, open)
  t.equal(status, 200, 'over the connection that is kept')
  await tellsNothing(t, service)
})

await t.test('one proxy is used for all connections, except to excluded hosts', async (t) => {
  const { proxy, url, settings, enter } = await company(t)
  const service = await startService(t, { ...settings, 'outgoing.https_proxy': url })
  t.strictSame(await enter(service), [200, 200, 200])
  t.strictSame(
    [...new Set(proxy.asked.map(({ place }) => place.replace(/:\d+$/, '')))].sort(),
    ['code.corp.example', 'id.corp.example'],
    'the cluster is on loopback',
  )
  const before = proxy.asked.length
  const direct = await startService(t, {
    ...settings,
    'outgoing.https_proxy': url,
    'outgoing.no_proxy': 'id.corp.example',
    [`${M}.codehost.proxy`]: 'none',
  })
  const { status } = await direct.request('GET', `${OIDC}/authorize`, undefined, open)
  t.equal(status, 503, 'the name does not resolve here')
  t.equal(proxy.asked.length, before)
})

await t.test('if the proxy refuses a connection, the login is refused and the cause is logged', async (t) => {
  const { proxy, url, settings, liar } = await company(t)
  proxy.credentials = 'somebody:else'
  const service = await startService(t, { ...settings, 'outgoing.https_proxy': url })
  const answer = await service.request('GET', `${OIDC}/authorize`, undefined, open)
  t.equal(answer.status, 503)
  t.strictSame(liar.asked, [])
  t.notOk(answer.text.includes(proxy.host))
  t.match(await service.logged(), `the proxy ${proxy.host} answered with status 407`)
  await tellsNothing(t, service)
})

await t.test('the discovery document is read over plain http from an internal host if configured', async (t) => {
  const liar = await lyingProvider(t)
  const { port } = new URL(liar.url)
  const inside = `http://keycloak.svc:${port}`
  const issuer = 'https://id.example.com/realms/main'
  const proxy = await proxyStandIn(t)
  liar.lies = {
    document: {
      issuer,
      authorization_endpoint: 'https://id.example.com/authorize',
      token_endpoint: `${inside}/token`,
      jwks_uri: `${inside}/keys`,
    },
    claims: { iss: issuer },
  }
  const service = await startService(t, {
    'server.public_url': PUBLIC,
    ...oidcSettings('main', issuer, lyingClient),
    [`${M}.oidc.providers.main.discovery_url`]: inside,
    // Resolves the internal names, which no resolver here knows.
    [`${M}.oidc.providers.main.proxy`]: proxy.url,
    'outgoing.http_hosts': '.svc',
  })
  const { authorizeUrl, cookie } = await begin(service, OIDC)
  t.equal(authorizeUrl.origin, 'https://id.example.com')
  const { searchParams } = liar.authorized(authorizeUrl)
  const answer = await comeBack(service, OIDC, searchParams, { cookie, accept: 'application/json' })
  t.equal(answer.status, 200)
  t.strictSame(new Set(proxy.asked.map(({ method }) => method)), new Set(['GET', 'POST']))
})

await t.test('a new certificate authority takes effect without a restart', async (t) => {
  const { proxy, url, settings } = await company(t)
  const other = await privateAuthority(t)
  const path = `${other.caPath}.mine`
  await writeFile(path, other.cert)
  const service = await startService(t, {
    ...settings,
    'outgoing.https_proxy': url,
    [`${M}.oidc.providers.main.ca_path`]: path,
  })
  const authorize = async () => (await service.request('GET', `${OIDC}/authorize`, undefined, open)).status
  t.equal(await authorize(), 503)
  await writeFile(path, await readFile(settings[`${M}.codehost.ca_path`]!, 'utf8'))
  t.equal(await authorize(), 200)
  t.ok(proxy.asked.length > 0)
})

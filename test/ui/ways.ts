import type { Test } from 'tap'
import { codehostStandIn } from '../auth/stand-ins/codehost.ts'
import { deadUrl } from '../auth/stand-ins/listen.ts'
import { realProvider } from '../auth/stand-ins/provider.ts'
import {
  CODEHOST,
  codehostSettings,
  everyWay,
  EXCHANGE,
  type Issued,
  logIn,
  OIDC,
  oidcSettings,
  type Settings,
} from '../http/people.ts'
import { type Started, startService } from '../start.ts'

const client = { clientId: 'rollcall', clientSecret: 'canary-oidc-secret' }

/** A service that browsers reach where it listens, with an OpenID Connect provider, a real one, and a code host. */
export const withWays = async (t: Test, settings: Settings = {}) => {
  const url = await deadUrl()
  const [provider, host] = await Promise.all([
    realProvider(t, {
      ...client,
      redirectUris: [`${url}/auth/v1/method/oidc/sso/callback`],
      users: { ada: { name: 'Ada', email: 'ada@example.com', email_verified: true } },
    }),
    codehostStandIn(t),
  ])
  const service = await startService(t, {
    'server.http_port': new URL(url).port,
    'server.public_url': url,
    'rate_limit.enabled': 'false',
    ...oidcSettings('sso', provider.url, client),
    ...codehostSettings(host.url),
    ...settings,
  })
  return { service, provider, host }
}

type Made = { readonly clientToken: string; readonly authentication: { readonly id: string } }

/** A static token of a name. */
export const tokenNamed = async ({ request }: Started, name: string, more: object = {}) => {
  const { json } = await request<Made>('POST', '/auth/v1/method/token', { name, ...more })
  return { token: json.clientToken, id: json.authentication.id }
}

/** A service that browsers reach where it listens, with every way in, a provider that lies when told to among them, and somebody signed in by each: Ada twice, Alice, and the account of a cluster. */
export const withSessions = async (t: Test, settings: Settings = {}) => {
  const url = await deadUrl()
  const world = await everyWay(t, {
    'server.http_port': new URL(url).port,
    'server.public_url': url,
    'authentication.methods.oidc.providers.main.display_name': 'Corporate SSO',
    ...settings,
  })
  const { service, liar, cluster } = world
  liar.lies = { claims: { sub: 'ada', name: 'Ada', email: 'ada@example.com' } }
  const [first, second, alice] = [
    await logIn(service, OIDC),
    await logIn(service, OIDC),
    await logIn(service, CODEHOST),
  ]
  const exchanged = await service.request<Issued>('POST', EXCHANGE, { service_account_token: await cluster.token() })
  return { ...world, ada: [first, second] as const, alice, exchanged: exchanged.json }
}

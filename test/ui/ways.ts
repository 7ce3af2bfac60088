import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import { codehostStandIn } from '../auth/stand-ins/codehost.ts'
import { realProvider } from '../auth/stand-ins/provider.ts'
import {
  CODEHOST,
  codehostSettings,
  EXCHANGE,
  everyWay,
  type Issued,
  logIn,
  OIDC,
  type Settings,
  visit,
} from '../http/people.ts'
import { leasePort, type Started, startService } from './service.ts'

const client = { clientId: 'rollcall', clientSecret: 'canary-oidc-secret' }

/** Settings of a service whose public URL is its own address. */
const reached = async (t: Test) => {
  const port = await leasePort(t)
  return { 'server.http_port': port, 'server.public_url': `http://127.0.0.1:${port}` }
}

/** Starts a service with real OpenID Connect providers of these names, and a code host. */
export const withWays = async (
  t: Test,
  settings: Settings = {},
  names: Readonly<Record<string, string | undefined>> = { sso: undefined },
) => {
  const address = await reached(t)
  const url = address['server.public_url']
  const host = await codehostStandIn(t)
  const providers: Record<string, object> = {}
  for (const [key, display_name] of Object.entries(names)) {
    const provider = await realProvider(t, {
      ...client,
      redirectUris: [`${url}/auth/v1/method/oidc/${key}/callback`],
      users: { ada: { name: 'Ada', email: 'ada@example.com', email_verified: true } },
    })
    const { clientId: client_id, clientSecret: client_secret } = client
    const said = { issuer_url: provider.url, client_id, client_secret, scopes: ['email', 'profile'] }
    providers[key] = { ...said, ...(display_name !== undefined && { display_name }) }
  }
  const service = await startService(
    t,
    { ...address, 'rate_limit.enabled': 'false', ...codehostSettings(host.url), ...settings },
    { file: { authentication: { methods: { oidc: { enabled: true, providers } } } } },
  )
  return { service, host }
}

/** Starts a service with every login method, including a provider with scripted answers. */
export const withEveryWay = async (t: Test, settings: Settings = {}, options: Parameters<typeof everyWay>[2] = {}) =>
  everyWay(
    t,
    {
      ...(await reached(t)),
      'authentication.methods.oidc.providers.main.display_name': 'Corporate SSO',
      ...settings,
    },
    options,
  )

/** Starts a login at the scripted provider; returns the query of the callback that it would call. */
export const leave = async (
  page: Page,
  { liar }: Pick<Awaited<ReturnType<typeof withEveryWay>>, 'liar'>,
  returnTo = '/settings/preferences',
): Promise<URLSearchParams> => {
  await page.route(`${liar.url}/authorize*`, (route) => route.fulfill({ contentType: 'text/html', body: 'Provider' }))
  await page.goto(`/login?return_to=${encodeURIComponent(returnTo)}`)
  const asked = page.waitForRequest((request) => request.url().startsWith(`${liar.url}/authorize`))
  await page.getByRole('button', { name: 'Continue with Corporate SSO' }).click()
  const address = (await asked).url()
  await page.getByText('Provider', { exact: true }).waitFor()
  return visit(new URL(address))
}

type Made = { readonly clientToken: string; readonly authentication: { readonly id: string } }

/** Creates a static token. */
export const tokenNamed = async ({ request }: Started, name: string, more: object = {}) => {
  const { json } = await request<Made>('POST', '/auth/v1/method/token', { name, ...more })
  return { token: json.clientToken, id: json.authentication.id }
}

/** Starts the service with a session by each login method: Ada twice, Alice, and a service account. */
export const withSessions = async (t: Test, settings: Settings = {}) => {
  const world = await withEveryWay(t, settings)
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

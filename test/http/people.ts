import type { Test } from 'tap'
import { clusterStandIn } from '../auth/stand-ins/cluster.ts'
import { codehostClient, codehostStandIn } from '../auth/stand-ins/codehost.ts'
import { lyingClient, lyingProvider } from '../auth/stand-ins/liar.ts'
import { type Headers, type Response, type Started, startService } from '../start.ts'

export type Settings = Readonly<Record<string, string | undefined>>

/** Public URL of the service. It does not resolve, because the tests act as the browser. */
export const PUBLIC = 'https://flags.example.com'
export const open: Headers = { authorization: '' }

/** Settings of an OpenID Connect provider. */
export const oidcSettings = (
  name: string,
  issuer: string,
  client: { readonly clientId: string; readonly clientSecret: string },
): Settings => {
  const at = `authentication.methods.oidc.providers.${name}`
  return {
    'authentication.methods.oidc.enabled': 'true',
    [`${at}.issuer_url`]: issuer,
    [`${at}.client_id`]: client.clientId,
    [`${at}.client_secret`]: client.clientSecret,
    [`${at}.scopes`]: 'email,profile',
  }
}

export const codehostSettings = (url: string): Settings => ({
  'authentication.methods.codehost.enabled': 'true',
  'authentication.methods.codehost.client_id': codehostClient.clientId,
  'authentication.methods.codehost.client_secret': codehostClient.clientSecret,
  'authentication.methods.codehost.server_url': url,
  'authentication.methods.codehost.api_url': `${url}/api`,
})

export const clusterSettings = ({
  url,
  caPath,
  tokenPath,
}: {
  readonly url: string
  readonly caPath: string
  readonly tokenPath: string
}): Settings => ({
  'authentication.methods.orchestrator.enabled': 'true',
  'authentication.methods.orchestrator.discovery_url': url,
  'authentication.methods.orchestrator.ca_path': caPath,
  'authentication.methods.orchestrator.service_account_token_path': tokenPath,
})

/**
 * Starts a service with every login method: a scripted provider, a code host and a cluster. `settings` are all its
 * settings.
 */
export const everyWay = async (t: Test, settings: Settings = {}, options: Parameters<typeof startService>[2] = {}) => {
  const [liar, host, cluster] = await Promise.all([lyingProvider(t), codehostStandIn(t), clusterStandIn(t)])
  const all: Settings = {
    'server.public_url': PUBLIC,
    'rate_limit.enabled': 'false',
    ...oidcSettings('main', liar.url, lyingClient),
    ...codehostSettings(host.url),
    ...clusterSettings(cluster),
    ...settings,
  }
  return { liar, host, cluster, settings: all, service: await startService(t, all, options) }
}

/** Cookies of an answer by name, with value and attributes as sent. */
export const cookiesOf = ({ headers }: Pick<Response<unknown>, 'headers'>) =>
  Object.fromEntries(
    (headers['set-cookie'] ?? []).map((line) => {
      const [, name = '', value = '', attributes = ''] = /^([^=]+)=([^;]*);? ?(.*)$/.exec(line) ?? []
      return [name, { value, attributes, line }] as const
    }),
  )

export type Begun = {
  readonly authorizeUrl: URL
  readonly cookie: string
  readonly answer: Response<{ authorizeUrl: string }>
}

/** Starts a login at `path` (`/auth/v1/method/oidc/main`) as a browser. */
export const begin = async ({ request }: Started, path: string, search = '', headers: Headers = {}): Promise<Begun> => {
  const answer = await request<{ authorizeUrl: string }>('GET', `${path}/authorize${search}`, undefined, {
    ...open,
    ...headers,
  })
  if (answer.status !== 200) throw new Error(`authorize answered ${answer.status}: ${answer.text}`)
  const [[name, { value }] = ['', { value: '' }]] = Object.entries(cookiesOf(answer))
  return { authorizeUrl: new URL(answer.json.authorizeUrl), cookie: `${name}=${value}`, answer }
}

/** Visits a stand-in without a sign-in page; returns the query of the callback. */
export const visit = async (address: URL): Promise<URLSearchParams> => {
  const response = await fetch(address, { redirect: 'manual' })
  await response.text()
  return new URL(response.headers.get('location')!).searchParams
}

export type Authentication = {
  readonly id: string
  readonly method: string
  readonly status: string
  readonly expiresAt?: string
  readonly createdAt: string
  readonly updatedAt: string
  readonly deletedAt?: string
  readonly issuedBy?: string
  readonly ending?: string
  readonly metadata: Readonly<Record<string, string>>
}
export type Problem = {
  readonly code: number
  readonly message: string
  readonly details: readonly [
    { readonly value: { readonly reason: string; readonly metadata: Readonly<Record<string, string>> } },
  ]
}
export type Issued = { readonly clientToken: string; readonly authentication: Authentication }

/** Calls the callback. */
export const comeBack = <T = Issued>(
  { request }: Started,
  path: string,
  query: URLSearchParams | string,
  headers: Headers,
) => request<T>('GET', `${path}/callback?${String(query)}`, undefined, { ...open, ...headers })

/** Completes a login; `token` is from the cookie. */
export const logIn = async (service: Started, path: string, headers: Headers = { accept: 'application/json' }) => {
  const { authorizeUrl, cookie } = await begin(service, path)
  const answer = await comeBack(service, path, await visit(authorizeUrl), { cookie, ...headers })
  return {
    answer,
    token: cookiesOf(answer)['service_client_token']?.value ?? '',
    authentication: answer.json.authentication,
  }
}

export const OIDC = '/auth/v1/method/oidc/main'
export const CODEHOST = '/auth/v1/method/codehost'
export const EXCHANGE = '/auth/v1/method/orchestrator/serviceaccount'

/** Status, reason and message of a refusal. */
export const refusalOf = ({ status, json }: Response<unknown>) => {
  const { code, message, details } = json as Partial<Problem>
  return { status, code, reason: details?.[0].value.reason, message }
}

export const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` })

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'
import type { Scope } from './listen.ts'

type Options = {
  readonly clientId: string
  readonly clientSecret: string
  readonly redirectUris: readonly string[]
  readonly users: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  /** Address for logout tokens; absent: the provider sends none. */
  readonly logoutUri?: string
}

/** A real OpenID Connect provider in this process. `users` are claims by login name. Closes itself. */
export const realProvider = async (t: Scope, { clientId, clientSecret, redirectUris, users, logoutUri }: Options) => {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  type Context = { oidc: { client: { clientId: string }; session: { accountId: string }; params: { scope: string } } }
  const provider: Provider = new Provider(url, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: redirectUris,
        post_logout_redirect_uris: redirectUris.map((uri) => uri.replace(/callback$/, 'post-logout')),
        ...(logoutUri !== undefined && {
          backchannel_logout_uri: logoutUri,
          backchannel_logout_session_required: true,
        }),
      },
    ],
    claims: {
      openid: ['sub'],
      email: ['email', 'email_verified'],
      profile: ['name', 'picture', 'profile', 'preferred_username'],
    },
    conformIdTokenClaims: false,
    cookies: { keys: ['for tests'] },
    // By default the provider sends no logout token to a loopback address, and gives up after 2.5 s.
    fetch: (address: string, { method, headers, body }: RequestInit) =>
      fetch(address, { method: method!, headers: headers!, body: body! }),
    pkce: { required: () => true },
    features: { devInteractions: { enabled: true }, backchannelLogout: { enabled: true } },
    findAccount: (_: unknown, login: string) => ({ accountId: login, claims: () => ({ sub: login, ...users[login] }) }),
    loadExistingGrant: async ({ oidc: { client, session, params } }: Context) => {
      const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId })
      grant.addOIDCScope(params.scope)
      await grant.save()
      return grant
    },
  })
  server.on('request', provider.callback())
  t.teardown(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  return { url }
}

/** Cookies of a browser at the provider, by name. */
export type Cookies = Map<string, string>

/**
 * Acts like a browser with `cookies`: follows redirects and sends each form with `fields`. Returns the redirect URL that
 * begins with `back`, or undefined at a form without `fields`.
 */
const travel = async (
  address: URL,
  back: string,
  cookies: Cookies,
  fields: Readonly<Record<string, string>> | undefined,
): Promise<URL | undefined> => {
  let request: { url: URL; body?: URLSearchParams } = { url: address }
  for (let step = 0; step < 12; step++) {
    if (request.url.href.startsWith(back)) return request.url
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const { body } = request
    const response = await fetch(request.url, {
      method: body ? 'POST' : 'GET',
      body: body ?? null,
      redirect: 'manual',
      headers: { cookie },
    })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      cookies.set(name, value)
    }
    const location = response.headers.get('location')
    const page = await response.text()
    const action = /action="([^"]+)"/.exec(page)?.[1]
    if (location !== null) request = { url: new URL(location, request.url) }
    else if (action === undefined) throw new Error(`the provider answered ${response.status}: ${page.slice(0, 300)}`)
    else if (!fields) return undefined
    else {
      const [, xsrf] = /name="xsrf" value="([^"]+)"/.exec(page) ?? []
      request = { url: new URL(action, request.url), body: new URLSearchParams({ ...fields, ...(xsrf && { xsrf }) }) }
    }
  }
  throw new Error('the provider never sent the browser back')
}

/** Signs in at the provider and returns the redirect URL that begins with `back`. */
export const signIn = async (address: URL, login: string, back: string, cookies: Cookies = new Map()): Promise<URL> =>
  (await travel(address, back, cookies, { prompt: 'login', login, password: 'x' }))!

/** Confirms a logout at the provider and returns the redirect URL that begins with `back`. */
export const signOut = async (address: URL, back: string, cookies: Cookies): Promise<URL> =>
  (await travel(address, back, cookies, { logout: 'yes' }))!

/** True if the provider asks for a password. */
export const asksForPassword = async (address: URL, back: string, cookies: Cookies): Promise<boolean> =>
  (await travel(address, back, new Map(cookies), undefined)) === undefined

import {
  allowInsecureRequests,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  type ClientAuth,
  ClientSecretPost,
  Configuration,
  customFetch,
  fetchProtectedResource,
  None,
} from 'openid-client'
import type { Clock } from '../clock.ts'
import { refuse } from '../errors.ts'
import { codeOf, tooMuchTold } from './callback.ts'
import { furtherParameters } from './further-parameters.ts'
import { type Identity, type LoginSecrets, text } from './identity.ts'
import { keptOf } from './kept.ts'
import { admit, type Memberships, type Named, onlyNamed, type Restrictions } from './membership.ts'
import { answered, redirectUriOf } from './redirect.ts'
import { isObject, jsonOf, providerFetch, unavailable } from './provider-fetch.ts'
import { exchangeCode } from './token-endpoint.ts'

const PAGES = 20

export type CodehostSettings = Restrictions & {
  readonly clock: Clock
  /** Who asks, for the provider's own log. */
  readonly userAgent: string
  readonly serverUrl: string
  readonly apiUrl: string
  readonly clientId: string
  readonly clientSecret: string
  /** External base address; with `callbackPath` behind it, the redirect URI. Never taken from a request. */
  readonly redirectAddress: string
  readonly callbackPath: string
  /** With `read:org`, organizations and teams are read; without it a restriction admits nobody. */
  readonly scopes: readonly string[]
  /** Further parameters of the authorize address. */
  readonly parameters: Readonly<Record<string, string>>
  /** What rules ask about is kept of a login even where the restrictions would leave it out. */
  readonly named?: Named
}

type Secrets = Omit<LoginSecrets, 'nonce'>

export type Codehost = {
  /** Where to send the browser. */
  readonly begin: (secrets: Secrets, anew?: boolean) => Promise<URL>
  /** Who came back. Refuses as the table of api.md §5.6 says, from the provider's `error` on, and with `membership_required`. */
  readonly finish: (answer: Secrets & { readonly query: URLSearchParams }) => Promise<Identity>
}

/** Login through a code host by OAuth 2.0 (api.md §5.6). */
export const codehost = (settings: CodehostSettings): Codehost => {
  const { clientId, clientSecret, scopes } = settings
  const [server, api] = [settings.serverUrl, settings.apiUrl].map((url) => url.replace(/\/+$/, '')) as [string, string]
  const redirectUri = redirectUriOf(settings)
  const call = providerFetch(settings.clock, settings.userAgent)

  const configuration = (authentication: ClientAuth) => {
    const endpoints = {
      issuer: server,
      authorization_endpoint: `${server}/login/oauth/authorize`,
      token_endpoint: `${server}/login/oauth/access_token`,
    }
    const config = new Configuration(endpoints, clientId, undefined, authentication)
    config[customFetch] = (url, init) =>
      call(url, init, () => tooMuchTold('codehost', 'an answer of the API is larger than 1 MiB'))
    if (`${server} ${api}`.includes('http:')) allowInsecureRequests(config)
    return config
  }

  const reader = (token: string) => async (address: URL) => {
    const headers = new Headers({ accept: 'application/vnd.github+json' })
    try {
      const response = await fetchProtectedResource(configuration(None()), token, address, 'GET', undefined, headers)
      return { content: await jsonOf(response), next: nextOf(response.headers.get('link')) }
    } catch (error) {
      return unavailable(error)
    }
  }

  const memberships = async (read: ReturnType<typeof reader>): Promise<Memberships> => {
    const list = async (path: string) => {
      const items: Readonly<Record<string, unknown>>[] = []
      let address: URL | undefined = new URL(`${api}${path}?per_page=100`)
      for (let page = 1; address && page <= PAGES; page++) {
        const { content, next } = await read(address)
        if (!Array.isArray(content) || !content.every(isObject)) return unavailable(`${path} is not a list of objects`)
        items.push(...content)
        address = next !== undefined && URL.canParse(next, address.href) ? new URL(next, address) : undefined
        // The access token goes nowhere else.
        if (address?.origin !== new URL(api).origin) address = undefined
      }
      return items
    }
    const organizations = (await list('/user/orgs')).map(({ login }) => word(login))
    const teams = new Map<string, string[]>()
    for (const { slug, organization } of await list('/user/teams')) {
      const login = word(isObject(organization) ? organization['login'] : undefined)
      teams.set(login, [...(teams.get(login) ?? []), word(slug)])
    }
    return { organizations: [...new Set(organizations)], teams: Object.fromEntries(teams) }
  }

  return {
    begin: async ({ state, codeVerifier }, anew = false) =>
      buildAuthorizationUrl(configuration(None()), {
        // Who does not know `prompt` leaves it aside (RFC 6749 §3.1).
        ...furtherParameters(settings.parameters, anew, 'select_account'),
        redirect_uri: redirectUri,
        scope: scopes.join(' '),
        state,
        code_challenge: await calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
      }),

    finish: async ({ query, state, codeVerifier }) => {
      const code = codeOf('codehost', query)
      const tokens = await exchangeCode({
        callback: 'codehost',
        call,
        configuration,
        authentications: [ClientSecretPost(clientSecret)],
        url: answered(redirectUri, { code, state }),
        checks: { expectedState: state, pkceCodeVerifier: codeVerifier },
      })
      const read = reader(tokens.access_token)
      const { content: user } = await read(new URL(`${api}/user`))
      if (!isObject(user) || !Number.isSafeInteger(user['id'])) return unavailable('/user is not a user')

      const readsOrganizations = scopes.includes('read:org')
      const known = readsOrganizations ? await memberships(read) : { organizations: [], teams: {} }
      const { admitted, ...kept } = admit(known, settings, settings.named)
      if (!admitted) return refuse('membership_required')
      if (!readsOrganizations) return identity(server, user, [{}])
      return identity(server, user, [kept, onlyNamed(kept, settings, settings.named)])
    },
  }
}

const word = (value: unknown): string => text(value) || unavailable('a membership without a name')

/** The address of the next page that a Link header names (RFC 8288). */
const nextOf = (link: string | null): string | undefined => {
  for (const [, address, parameters = ''] of (link ?? '').matchAll(/<([^<>]*)>([^<]*)/g))
    if (parameters.split(/[;,]/).some((parameter) => /^\s*rel\s*=\s*"?next"?\s*$/i.test(parameter))) return address
  return undefined
}

/** Who logged in, with the first of some memberships that fits into what is kept. */
const identity = (
  issuer: string,
  user: Readonly<Record<string, unknown>>,
  memberships: readonly Partial<Memberships>[],
): Identity => {
  const sub = String(user['id'])
  const [email, name, picture] = [text(user['email']), text(user['name']), text(user['avatar_url'])]
  const forms = memberships.map(({ organizations, teams }) => ({
    'codehost.email': email,
    'codehost.name': name,
    'codehost.picture': picture,
    'codehost.sub': sub,
    'codehost.preferred_username': text(user['login']),
    'codehost.organizations': organizations && JSON.stringify(organizations),
    'codehost.teams': teams && JSON.stringify(teams),
    email,
    name,
    picture,
  }))
  return { subject: { issuer, sub }, ...keptOf('codehost', forms), ...(email === undefined ? {} : { email }) }
}

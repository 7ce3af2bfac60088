import type { Shown } from '../../../src/contract/answer.ts'
import type { Methods } from '../../../src/contract/login.ts'
import type { Way } from '../identity.ts'
import { request } from './request.ts'

/** Login provider, shown as a button of the sign-in page. */
export type Provider = { readonly key: string; readonly name: string | undefined; readonly authorizeUrl: string }

type Listed = Shown<typeof Methods>['methods'][number]
type Paths = { readonly authorize_url: string; readonly name?: string }
type OidcMetadata = { readonly providers: Readonly<Record<string, Paths>>; readonly order?: readonly string[] }

/**
 * Login methods: browser login providers in configuration order, then the code host; whether static tokens are enabled;
 * and the method names that the API uses for sessions.
 */
export type Ways = {
  readonly providers: readonly Provider[]
  readonly staticTokens: boolean
  readonly methods: Readonly<Record<Exclude<Way, 'token'>, string>>
}

const METHOD_TOKEN = 'METHOD_TOKEN'

export const readMethods = async (signal?: AbortSignal): Promise<Ways> => {
  const { methods } = (await request<Shown<typeof Methods>>('auth/v1/method', { signal })).value
  const withMember = (name: string): Listed | undefined =>
    methods.find(({ metadata }) => metadata !== undefined && name in metadata)
  const [oidc, codehost] = [withMember('providers'), withMember('authorize_url')]
  const others = methods.find(({ method, metadata }) => metadata === undefined && method !== METHOD_TOKEN)
  const { providers = {}, order = Object.keys(providers) } = (oidc?.metadata ?? {}) as Partial<OidcMetadata>
  const known: Provider[] = order.flatMap((key) => {
    const paths = providers[key]
    return oidc?.enabled && paths
      ? [{ key, name: paths.name ?? capitalized(key), authorizeUrl: paths.authorize_url }]
      : []
  })
  if (codehost?.enabled) {
    const { authorize_url, name } = codehost.metadata as Paths
    known.push({ key: '', name, authorizeUrl: authorize_url })
  }
  return {
    providers: known,
    staticTokens: methods.some(({ method, enabled }) => enabled && method === METHOD_TOKEN),
    methods: {
      oidc: oidc?.method ?? '',
      codehost: codehost?.method ?? '',
      orchestrator: others?.method ?? '',
    },
  }
}

const capitalized = (key: string): string => key.slice(0, 1).toLocaleUpperCase('en') + key.slice(1)

/**
 * Returns the provider's address for a login. With `anew` the provider asks for credentials even if it has a session.
 */
export const beginLogin = async ({ authorizeUrl }: Provider, returnTo: string, anew: boolean): Promise<string> => {
  const asked = new URLSearchParams({ return_to: returnTo, ...(anew && { prompt: 'login' }) })
  const { value } = await request<{ readonly authorizeUrl: string }>(`${authorizeUrl}?${asked.toString()}`)
  return value.authorizeUrl
}

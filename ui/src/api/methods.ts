import type { Methods } from '../../../src/contract/login.ts'
import type { Shown } from '../../../src/contract/answer.ts'
import { request } from './request.ts'

/** One button of the sign-in page: what it is called, and where its login begins. */
export type Provider = { readonly key: string; readonly name: string | undefined; readonly authorizeUrl: string }

type Listed = Shown<typeof Methods>['methods'][number]
type Paths = { readonly authorize_url: string; readonly name?: string }
type OidcMetadata = { readonly providers: Readonly<Record<string, Paths>>; readonly order?: readonly string[] }

/** The ways to a client token: the providers of a browser's login in the order of the configuration, then the code host; and whether static tokens are made. */
export type Ways = { readonly providers: readonly Provider[]; readonly staticTokens: boolean }

export const readMethods = async (signal?: AbortSignal): Promise<Ways> => {
  const { methods } = (await request<Shown<typeof Methods>>('auth/v1/method', { signal })).value
  const withMember = (name: string): Listed | undefined =>
    methods.find(({ enabled, metadata }) => enabled && metadata !== undefined && name in metadata)
  const [oidc, codehost] = [withMember('providers'), withMember('authorize_url')]
  const { providers = {}, order = Object.keys(providers) } = (oidc?.metadata ?? {}) as Partial<OidcMetadata>
  const known: Provider[] = order.flatMap((key) => {
    const paths = providers[key]
    return paths ? [{ key, name: paths.name ?? capitalized(key), authorizeUrl: paths.authorize_url }] : []
  })
  if (codehost) {
    const { authorize_url, name } = codehost.metadata as Paths
    known.push({ key: '', name, authorizeUrl: authorize_url })
  }
  const staticTokens = methods.some(({ method, enabled }) => enabled && method === 'METHOD_TOKEN')
  return { providers: known, staticTokens }
}

const capitalized = (key: string): string => key.slice(0, 1).toLocaleUpperCase('en') + key.slice(1)

/** Where the browser is sent for a login. */
export const beginLogin = async ({ authorizeUrl }: Provider, returnTo: string): Promise<string> => {
  const { value } = await request<{ readonly authorizeUrl: string }>(
    `${authorizeUrl}?${new URLSearchParams({ return_to: returnTo }).toString()}`,
  )
  return value.authorizeUrl
}

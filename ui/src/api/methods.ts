import type { Shown } from '../../../src/contract/answer.ts'
import type { Methods } from '../../../src/contract/login/login.ts'
import { type ListedProvider, loginMethods, type Method, methodListed } from '../login-methods.ts'
import { read, request } from './request.ts'

/** Login provider, shown as a button of the sign-in page. */
export type Provider = ListedProvider & { readonly method: Method }

/**
 * Login methods: the providers of browser logins; whether static tokens are enabled; and the API names of the session
 * methods.
 */
type Ways = {
  readonly providers: readonly Provider[]
  readonly staticTokens: boolean
  readonly sessions: readonly { readonly method: Method; readonly wireName: string }[]
}

export const readMethods = async (signal?: AbortSignal): Promise<Ways> => {
  const { methods } = await read<Shown<typeof Methods>>('auth/v1/method', { signal })
  const byMethod = new Map(methods.map((entry) => [methodListed(entry), entry]))
  const known = (Object.keys(loginMethods) as readonly Method[]).flatMap((method) => {
    const entry = byMethod.get(method)
    return entry ? [{ method, entry, ...loginMethods[method] }] : []
  })
  return {
    providers: known.flatMap(({ method, entry, providersIn }) =>
      entry.enabled ? providersIn(entry).map((provider) => ({ ...provider, method })) : [],
    ),
    staticTokens: byMethod.get('token')?.enabled ?? false,
    sessions: known
      .filter(({ isSession }) => isSession)
      .map(({ method, entry }) => ({ method, wireName: entry.method })),
  }
}

/**
 * Returns the provider's address for a login. With `forceLogin` the provider asks for credentials despite its session.
 */
export const beginLogin = async (
  { authorizeUrl }: Provider,
  returnTo: string,
  forceLogin: boolean,
): Promise<string> => {
  const asked = new URLSearchParams({ return_to: returnTo, ...(forceLogin && { prompt: 'login' }) })
  const { value } = await request<{ readonly authorizeUrl: string }>(`${authorizeUrl}?${asked.toString()}`)
  return value.authorizeUrl
}

import type { Fields, Headers, Started } from '../start.ts'
import { bearer, type Issued } from './people.ts'

/** Requested grant. */
export type Asked = { readonly namespaceKey: string; readonly role?: string; readonly rights?: readonly string[] }

/** Creates a static token; returns its headers and id. */
export const granted = async (
  { request }: Started,
  asked: Fields,
): Promise<{ readonly headers: Headers; readonly id: string; readonly clientToken: string }> => {
  const { status, text, json } = await request<Issued>('POST', '/auth/v1/method/token', { name: 'granted', ...asked })
  if (status !== 200) throw new Error(`${status} ${text}`)
  const { clientToken, authentication } = json
  return { headers: bearer(clientToken), id: authentication.id, clientToken }
}

/** Creates namespaces. */
export const withNamespaces = async <S extends Started>(service: S, ...keys: readonly string[]): Promise<S> => {
  for (const key of keys) {
    const { status, text } = await service.request('POST', '/api/v1/namespaces', { key, name: key })
    if (status !== 200) throw new Error(`${status} ${text}`)
  }
  return service
}

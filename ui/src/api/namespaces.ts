import type { Shown } from '../../../src/contract/answer.ts'
import type { ListedNamespace, Namespace, NamespaceList } from '../../../src/contract/resource.ts'
import { isFailure } from './failure.ts'
import { keys } from './keys.ts'
import { path, query, read, request } from './request.ts'
import type { Write } from './write.ts'

export type { ListedNamespace, Namespace }

type NamespacePage = Shown<typeof NamespaceList>

const PAGE = 50

/** Reads one page of namespaces. */
export const readNamespaces = async (
  asked: {
    readonly q?: string | undefined
    readonly sort?: string | undefined
    readonly order?: string | undefined
    readonly page?: string | undefined
    readonly limit?: number
    readonly include?: 'usage'
    readonly at?: string | undefined
  },
  signal?: AbortSignal,
): Promise<NamespacePage> => {
  const { page, limit = PAGE, ...rest } = asked
  return read<NamespacePage>(`api/v1/namespaces${query({ ...rest, limit, pageToken: page })}`, { signal })
}

/** Time and author of the last change of a namespace; undefined if the list cannot be read. */
export const readLastChange = async (
  key: string,
): Promise<Pick<ListedNamespace, 'changedAt' | 'changedBy'> | undefined> => {
  try {
    const { namespaces } = await readNamespaces({ q: key, sort: 'changedAt', order: 'desc', include: 'usage' })
    return namespaces.find((one) => one.key === key)
  } catch (error) {
    if (!isFailure(error)) throw error
    return undefined
  }
}

/** Namespace with its revision. */
export type LoadedNamespace = { readonly namespace: Namespace; readonly revision: string }

const ofKey = (key: string) => `api/v1/namespaces/${path(key)}`

export const readNamespace = async (key: string, signal?: AbortSignal, at?: string): Promise<LoadedNamespace> => {
  const { value, etag } = await request<Namespace>(`${ofKey(key)}${query({ at })}`, { signal })
  return { namespace: value, revision: etag ?? '' }
}

/** Reads a namespace with its revision and its number of flags and segments. */
export const readContents = async (
  key: string,
  signal?: AbortSignal,
): Promise<LoadedNamespace & { readonly flags: number; readonly segments: number }> => {
  const [loaded, flags, segments] = await Promise.all([
    readNamespace(key, signal),
    request<{ readonly totalCount: number }>(`${ofKey(key)}/flags${query({ limit: 1 })}`, { signal }),
    request<{ readonly totalCount: number }>(`${ofKey(key)}/segments${query({ limit: 1 })}`, { signal }),
  ])
  return { ...loaded, flags: flags.value.totalCount, segments: segments.value.totalCount }
}

type Told = Pick<Namespace, 'name' | 'description'>

export const namespaceCreation = (
  { key, name, description }: Told & Pick<Namespace, 'key'>,
  reason: string,
): Write => ({
  method: 'POST',
  path: 'api/v1/namespaces',
  body: { key, name, description },
  reason,
  stale: [keys.namespaces],
})

export const namespaceUpdate = (key: string, revision: string, { name, description }: Told, reason: string): Write => ({
  method: 'PUT',
  path: ofKey(key),
  body: { name, description },
  revision,
  reason,
  stale: [keys.namespaces],
})

/** Write that deletes a namespace; with `all`, including its flags. */
export const namespaceDeletion = (
  { namespace: { key }, revision }: LoadedNamespace,
  all: boolean,
  reason: string,
): Write => ({
  method: 'DELETE',
  path: `${ofKey(key)}${query({ force: all ? 'true' : undefined })}`,
  revision,
  reason,
  stale: [keys.namespaces, keys.flags(key), keys.segments(key)],
})

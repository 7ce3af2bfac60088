import type { Shown } from '../../../src/contract/answer.ts'
import type { Namespace, NamespaceList } from '../../../src/contract/namespace.ts'
import { query, request } from './request.ts'

export type NamespaceRecord = Namespace
export type NamespacePage = Shown<typeof NamespaceList>

/** One page of namespaces. */
export const readNamespaces = async (
  asked: {
    readonly q?: string | undefined
    readonly page?: string | undefined
    readonly limit?: number
    readonly include?: 'usage'
    readonly at?: string
  },
  signal?: AbortSignal,
): Promise<NamespacePage> => {
  const { page, limit = 50, ...rest } = asked
  return (await request<NamespacePage>(`api/v1/namespaces${query({ ...rest, limit, pageToken: page })}`, { signal }))
    .value
}

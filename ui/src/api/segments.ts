import type { Shown } from '../../../src/contract/answer.ts'
import type { SegmentList } from '../../../src/contract/segment.ts'
import { path, query, request } from './request.ts'

const FOUND = 20

/** The segments of a namespace that a text finds. */
export const searchSegments = async (
  namespace: string,
  q: string,
  signal?: AbortSignal,
  { at, limit = FOUND }: { readonly at?: string | undefined; readonly limit?: number } = {},
): Promise<Shown<typeof SegmentList>> =>
  (
    await request<Shown<typeof SegmentList>>(
      `api/v1/namespaces/${path(namespace, 'segments')}${query({ q, at, limit })}`,
      { signal },
    )
  ).value

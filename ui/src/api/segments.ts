import type { Shown } from '../../../src/contract/answer.ts'
import type {
  ChangedSegment,
  Constraint,
  ListedSegment,
  Segment,
  SegmentList,
  SegmentMatch,
} from '../../../src/contract/flags/segment.ts'
import type { FlagPage } from './flags.ts'
import { keys } from './keys.ts'
import { path, query, read, request } from './request.ts'
import type { Write } from './write.ts'

export type { ChangedSegment, Constraint, ListedSegment, Segment, SegmentMatch }

type SegmentPage = Shown<typeof SegmentList>
export type MatchType = Segment['matchType']

const FOUND = 20
const PAGE = 50

const ofNamespace = (namespace: string, ...rest: readonly string[]) =>
  `api/v1/namespaces/${path(namespace, 'segments', ...rest)}`

/** Searches the segments of a namespace by name or key. */
export const searchSegments = (
  namespace: string,
  q: string,
  signal?: AbortSignal,
  { at, limit = FOUND }: { readonly at?: string | undefined; readonly limit?: number } = {},
): Promise<SegmentPage> => read(`${ofNamespace(namespace)}${query({ q, at, limit })}`, { signal })

type SegmentFilter = Readonly<Partial<Record<'q' | 'sort' | 'order' | 'page' | 'at', string | undefined>>>

/** Reads one page of the segments of a namespace, each with its number of flags. */
export const readSegments = async (
  namespace: string,
  { page, ...filter }: SegmentFilter,
  signal?: AbortSignal,
): Promise<SegmentPage> => {
  const asked = query({ ...filter, include: 'usage', limit: PAGE, pageToken: page })
  return read<SegmentPage>(`${ofNamespace(namespace)}${asked}`, { signal })
}

/** Segment with its constraints and its revision. */
export type LoadedSegment = { readonly segment: Segment; readonly revision: string }

export const readSegment = async (
  namespace: string,
  key: string,
  at: string | undefined,
  signal?: AbortSignal,
): Promise<LoadedSegment> => {
  const { value, etag } = await request<Segment>(`${ofNamespace(namespace, key)}${query({ at })}`, { signal })
  return { segment: value, revision: etag ?? '' }
}

/** Reads one page of the flags that use a segment, sorted by name, each with its rules and rollouts that use it. */
export const readUsages = async (
  namespace: string,
  key: string,
  { page, at }: Pick<SegmentFilter, 'page' | 'at'>,
  signal?: AbortSignal,
): Promise<FlagPage> => {
  const asked = query({ segmentKey: key, sort: 'name', limit: PAGE, pageToken: page, at })
  return read<FlagPage>(`api/v1/namespaces/${path(namespace, 'flags')}${asked}`, { signal })
}

/** Tests an entity with the match type and constraints of a JSON body. The service writes nothing (api.md §7.10). */
export const matchSegment = (namespace: string, key: string, body: string): Promise<SegmentMatch> =>
  read(ofNamespace(namespace, key, 'match'), { method: 'POST', body, reads: true })

export const segmentCreation = (
  namespace: string,
  body: Pick<Segment, 'key' | 'name' | 'description' | 'matchType'>,
  reason: string,
): Write => ({
  method: 'POST',
  path: ofNamespace(namespace),
  body,
  reason,
  stale: [keys.segments(namespace), keys.segment(namespace, body.key)],
})

type ConstraintFields = Pick<Constraint, 'type' | 'property' | 'operator' | 'value' | 'description'>

/** Operation on a segment or a constraint (api.md §7.9). */
export type SegmentOp =
  | ({ readonly op: 'segment.update' } & Readonly<Partial<Pick<Segment, 'name' | 'description' | 'matchType'>>>)
  | ({ readonly op: 'constraint.create' } & ConstraintFields)
  | ({ readonly op: 'constraint.update'; readonly id: string } & ConstraintFields)
  | { readonly op: 'constraint.delete'; readonly id: string }

/** Write that applies several operations to a segment atomically. */
export const segmentChanges = (
  { segment: { namespaceKey, key }, revision }: LoadedSegment,
  changes: readonly SegmentOp[],
  reason: string,
): Write => ({
  method: 'POST',
  path: ofNamespace(namespaceKey, key, 'changes'),
  body: { changes },
  revision,
  reason,
  stale: [keys.segments(namespaceKey), keys.segment(namespaceKey, key), keys.flags(namespaceKey)],
})

export const segmentDeletion = (
  { segment: { namespaceKey, key }, revision }: LoadedSegment,
  reason: string,
): Write => ({
  method: 'DELETE',
  path: ofNamespace(namespaceKey, key),
  revision,
  reason,
  stale: [keys.segments(namespaceKey)],
})

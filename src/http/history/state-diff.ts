import { refuse } from '../../base/errors.ts'
import { timeSlicer } from '../../base/event-loop.ts'
import type { DiffItem, StateDiff } from '../../contract/history/state.ts'
import { differences } from '../../history/diff.ts'
import { flags } from '../../projections/flags.ts'
import { namespaces, segments } from '../../projections/resource-model.ts'
import { hasRoomFor, type Of } from '../memory/room.ts'
import { namespaceJson } from '../present/namespace.ts'
import { segmentJson } from '../present/segment.ts'
import type { HistoryService } from '../services/history.ts'
import { jsonOf } from '../wire/reply.ts'
import { type Past, resourceAt, wholeFlag } from './stream-state.ts'

/**
 * Fields that a difference leaves out: times, which every change moves, and the last use, which is not part of the
 * history.
 */
const IGNORED: ReadonlySet<string> = new Set(['createdAt', 'updatedAt', 'lastUsedAt'])

/** Number of streams compared at once. */
const CHUNK = 64

/** Difference of one resource; undefined if both sides are equal. */
const itemOf = (stream: string, from: object | undefined, to: object | undefined): DiffItem | undefined => {
  if (!from && !to) return undefined
  if (!from) return { stream, kind: 'added', changes: [{ path: '', to }] }
  if (!to) return { stream, kind: 'removed', changes: [{ path: '', from }] }
  const changes = differences(from, to, IGNORED)
  return changes.length === 0 ? undefined : { stream, kind: 'changed', changes }
}

type Sides = { readonly a: Past; readonly b: Past }

/** Difference of one stream between two moments. Refuses a stream that had no event at either moment. */
export const streamDiff = async (
  service: HistoryService,
  { a, b }: Sides,
  stream: string,
): Promise<readonly DiffItem[]> => {
  const hyphen = stream.indexOf('-')
  const name = { category: stream.slice(0, Math.max(0, hyphen)), id: stream.slice(hyphen + 1) }
  const [before, after] = [await resourceAt(service, a, name), await resourceAt(service, b, name)]
  if (!before.written && !after.written) refuse('not_found', `stream "${stream}" not found`)
  const item = itemOf(stream, before.body, after.body)
  return item ? [item] : []
}

type Entry = { readonly key: string }

/** Streams that belong to a namespace at a moment: its own, those of its flags and those of its segments. */
const streamsAt = async (past: Past, namespace: string): Promise<ReadonlySet<string>> => {
  const names = (category: string, entries: readonly Entry[]) => entries.map(({ key }) => `${category}-${key}`)
  const [own, flagList, segmentList] = [
    await past.namespace(namespace),
    await past.flags(namespace),
    await past.segments(namespace),
  ]
  return new Set([
    ...(own ? [`namespace-${namespace}`] : []),
    ...names('flag', flagList),
    ...names('segment', segmentList),
  ])
}

/** Bodies of the given streams at a moment, by stream. Streams that do not exist at the moment have no body. */
const bodiesAt = async (past: Past, streams: readonly string[], existing: ReadonlySet<string>) => {
  const idsOf = (category: string) =>
    streams
      .filter((one) => one.startsWith(`${category}-`) && existing.has(one))
      .map((one) => one.slice(category.length + 1))
  const bodies = new Map<string, object>()
  for (const row of await past.rows(namespaces, idsOf('namespace')))
    if (row?.doc) bodies.set(`namespace-${row.key}`, namespaceJson(row.doc))
  for (const row of await past.rows(flags, idsOf('flag')))
    if (row?.doc) bodies.set(`flag-${row.key}`, wholeFlag(row.doc))
  for (const row of await past.rows(segments, idsOf('segment')))
    if (row?.doc) bodies.set(`segment-${row.key}`, segmentJson(row.doc))
  return bodies
}

type Bounds = Of & { readonly limit: number; readonly most: number; readonly after: string }

/**
 * Differences of a namespace with its flags and segments, in the order of their streams, from the stream after `after`
 * on. `next`: last stream that was compared; undefined after the last one.
 */
export const namespaceDiff = async (
  { a, b }: Sides,
  namespace: string,
  { request, limit, most, after }: Bounds,
): Promise<{ readonly items: StateDiff['items']; readonly next: string | undefined }> => {
  const [before, now] = [await streamsAt(a, namespace), await streamsAt(b, namespace)]
  const streams = [...new Set([...before, ...now])].filter((stream) => stream > after).sort()
  const pause = timeSlicer()
  const items: DiffItem[] = []
  let [bytes, last] = [0, after]
  for (let n = 0; n < streams.length; n += CHUNK) {
    const chunk = streams.slice(n, n + CHUNK)
    const [from, to] = [await bodiesAt(a, chunk, before), await bodiesAt(b, chunk, now)]
    for (const stream of chunk) {
      const item = itemOf(stream, from.get(stream), to.get(stream))
      const size = item ? Buffer.byteLength(jsonOf(item)) + 1 : 0
      const isFull = items.length === limit || bytes + size > most || !hasRoomFor(request, bytes + size)
      if (item && items.length > 0 && isFull) return { items, next: last }
      if (item) items.push(item)
      bytes += size
      last = stream
      await pause()
    }
  }
  return { items, next: undefined }
}

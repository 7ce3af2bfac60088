import type { Log, Stored } from '../events/log.ts'
import { type AnyProjection, project } from './projection.ts'
import type { Row } from './views.ts'

/** The key of a stream's document. */
export const keyOf = ({ category }: AnyProjection, stream: string): string => stream.slice(category.length + 1)

/** The events of each stream, in order. */
export const byStream = (events: readonly Stored[]): ReadonlyMap<string, readonly Stored[]> => {
  const streams = new Map<string, Stored[]>()
  for (const event of events) {
    const together = streams.get(event.stream)
    if (together) together.push(event)
    else streams.set(event.stream, [event])
  }
  return streams
}

/** The row of a stream's document after these events of it (in order, without a gap): from the row at hand where there is one, and from the log where events before them are missing. */
export const newest = async (
  log: Pick<Log, 'read'>,
  projection: AnyProjection,
  events: readonly Stored[],
  present: Row | undefined,
): Promise<Row> => {
  const { stream, revision: first } = events[0]!
  const from = (present?.revision ?? -1n) + 1n
  let row = present
  if (from < first) {
    for await (const page of log.read(stream, from)) for (const event of page) row = project(projection, row, event)
  } else {
    for (const event of events) if (event.revision >= from) row = project(projection, row, event)
  }
  if (!row) throw new Error(`${stream} has no event up to revision ${first}`)
  return row
}

/** The latest revision met of each stream, until the whole log is known up to there anyway. */
export const latest = () => {
  const streams = new Map<string, { readonly revision: bigint; readonly position: bigint }>()
  return {
    /** True when these events of a stream, or later ones, were met before. */
    met: (events: readonly Stored[]): boolean => {
      const known = streams.get(events[0]!.stream)
      return known !== undefined && known.revision >= events.at(-1)!.revision
    },
    meet: (row: Row, stream: string): void => {
      const known = streams.get(stream)
      if (!known || known.revision < row.revision) streams.set(stream, { revision: row.revision, position: row.position })
    },
    /** Forgets what lies at or before a position. */
    forget: (position: bigint): void => {
      for (const [stream, known] of streams) if (known.position <= position) streams.delete(stream)
    },
  }
}

import { LRUCache } from 'lru-cache'
import type { Clock } from '../../base/clock.ts'
import { keyedQueue } from '../../base/concurrency.ts'
import { refuse } from '../../base/errors.ts'
import { type AnyEvent, typeName } from '../../events/define.ts'
import type { EventLog, Stored } from '../../events/log.ts'
import { type AnyProjection, type Projection, project, type RowOf } from '../projection.ts'
import type { Row, ViewPart, Views } from '../views.ts'
import { byStream, foldRow, keyOf, wholeAppend } from './fold-rows.ts'
import type { Progress } from './rebuild.ts'

/**
 * The part of a read model that memory needs if it does not hold whole rows: the rows that lack a field. Of all other
 * documents memory receives only the number, grouped by another field.
 */
type Needs = ViewPart & { readonly by: string; readonly others: (counts: ReadonlyMap<string, number>) => void }

/** Memory that is loaded from the views. */
export type Filled = {
  readonly remember: (projection: AnyProjection, row: Row) => void
  /** The value is undefined for a read model whose whole rows are in memory. */
  readonly needs?: (projection: AnyProjection) => Needs | undefined
  /** True for a read model that memory loads from the log only, because its views are not trusted. */
  readonly fromLog?: (projection: AnyProjection) => boolean
}

type Sources = {
  readonly log: Pick<EventLog, 'readAll'>
  readonly views: Views
  readonly projections: readonly AnyProjection[]
  /** Last position that is read from the log. */
  readonly upTo: bigint
  readonly onProgress?: ((progress: Progress) => void) | undefined
}

/** Folds read models from the log in one pass, and stores the rows in memory. */
const fold = async ({ log, projections, upTo, onProgress }: Sources, { remember }: Filled): Promise<void> => {
  const rows = new Map(projections.map((projection) => [projection, new Map<string, Row>()]))
  let done = 0
  for await (const page of log.readAll(0n, upTo)) {
    for (const event of page) {
      for (const [projection, own] of rows) {
        if (!event.stream.startsWith(`${projection.category}-`)) continue
        const key = keyOf(projection, event.stream)
        own.set(key, project(projection, own.get(key), event))
      }
    }
    done += page.length
    onProgress?.({ done, position: page.at(-1)!.position, head: upTo })
  }
  for (const [projection, own] of rows) for (const row of own.values()) remember(projection, row)
}

/** Loads memory from the read models; `healed` returns an unreadable row as this version reads it. */
export const loadMemory = async (
  sources: Sources,
  filled: Filled,
  healed: (projection: AnyProjection, row: Row) => Promise<Row> = async (_, row) => row,
): Promise<void> => {
  const { views, projections } = sources
  const { remember, needs = () => undefined, fromLog = () => false } = filled
  const folded = projections.filter(fromLog)
  if (folded.length > 0) await fold({ ...sources, projections: folded }, filled)
  for (const projection of projections.filter((each) => !fromLog(each))) {
    const part = needs(projection)
    if (part) part.others(await views.tally(projection, part.lacking, part.by))
    for await (const rows of views.scan(projection, part))
      for (const row of rows) remember(projection, row.unreadable ? await healed(projection, row) : row)
  }
}

/** Maximum number of rows, and their size together in UTF-16 units. */
const [RECENT, RECENT_SIZE] = [1_000, 32 * 1_048_576]

/** Cache (LRU) of the rows of recently changed documents, bounded in number and size. */
export const recentRows = (most = RECENT_SIZE) => {
  const recent = new LRUCache<string, { readonly row: Row; readonly size: number }>({
    max: RECENT,
    maxSize: most,
    sizeCalculation: ({ size }) => size + 1,
  })
  const nameOf = ({ name }: AnyProjection, stream: string): string => `${name} ${stream}`
  return {
    get: (projection: AnyProjection, stream: string): Row | undefined => recent.get(nameOf(projection, stream))?.row,
    set: (projection: AnyProjection, stream: string, row: Row, size: number): void =>
      void recent.set(nameOf(projection, stream), { row, size }),
  }
}

export type MemoryOptions = {
  readonly clock: Clock
  readonly log: EventLog
  readonly projections: readonly AnyProjection[]
  /** Stores rows in memory: at the start the needed part of every row, then each new row of a document, in order. */
  readonly remember: (projection: AnyProjection, row: Row) => void
  /** Lookup of the rows of a read model in memory; undefined if memory does not hold whole rows. */
  readonly recall?: (projection: AnyProjection) => ((key: string) => Row | undefined) | undefined
  /** Resolves to true if the log is still the one that this instance has read so far. */
  readonly agrees?: () => Promise<boolean>
  /** Applies an event received from the log to memory without a row, if possible; false if the row must be folded. */
  readonly take?: (projection: AnyProjection, event: Stored) => boolean
}

/** Minimum number of ids of recent events from the log that are kept. */
const RECENT_IDS = 1_000

/** True if a row has the revision of the event or a later one, but an earlier position: they are of different logs. */
const isBefore = ({ revision, position }: Row, event: Stored): boolean =>
  revision === event.revision ? position !== event.position : revision > event.revision && position < event.position

/** True if the event ends its document, and the row is not of another log. */
const isEnd = (projection: AnyProjection, event: Stored, row: Row | undefined): boolean =>
  projection.ends?.has(typeName(event.type)) === true && !(row && isBefore(row, event))

/** Position and revision of an event. */
export type Met = Pick<Stored, 'stream' | 'revision' | 'position'>

/** Highest applied revision of streams whose events memory has received ahead of the log. */
const revisionTracker = () => {
  const streams = new Map<string, { readonly revision: bigint; readonly position: bigint }>()
  return {
    /** True if these events of a stream, or later ones, were applied. */
    has: (events: readonly Stored[]): boolean => {
      const known = streams.get(events[0]!.stream)
      return known !== undefined && known.revision >= events.at(-1)!.revision
    },
    record: ({ stream, revision, position }: Met): void => {
      const known = streams.get(stream)
      if (!known || known.revision < revision) streams.set(stream, { revision, position })
    },
    /** All recorded streams. */
    all: (): readonly Met[] =>
      Array.from(streams, ([stream, { revision, position }]) => ({ stream, revision, position })),
    /** Removes entries at or before a position. */
    forget: (position: bigint): void => {
      for (const [stream, known] of streams) if (known.position <= position) streams.delete(stream)
    },
  }
}

/**
 * Position of the last event received from the log, and the ids of at least `RECENT_IDS` events before it, in two
 * generations.
 */
const followedEvents = () => {
  let followed = 0n
  let [current, previous] = [new Set<string>(), new Set<string>()]
  return {
    position: (): bigint => followed,
    has: (id: string): boolean => current.has(id) || previous.has(id),
    add: (position: bigint, page: readonly Stored[]): void => {
      if (current.size >= RECENT_IDS) [current, previous] = [new Set(), current]
      for (const { id } of page) current.add(id)
      followed = position
    },
  }
}

/** Refuses if the log is not the one that this instance has read so far. */
const insistOnLog = async (agrees: () => Promise<boolean>, { stream, position }: Stored): Promise<void> => {
  if (!(await agrees()))
    refuse('backend_unavailable', undefined, {
      cause: new Error(`${stream} was appended at ${position}, where another event log has a different event`),
    })
}

/** Creates a lookup over rows of several projections. */
export const rowOf =
  (rows: readonly (readonly [AnyProjection, Row])[]): RowOf =>
  <D extends object, E extends AnyEvent>({ name }: Projection<D, E>, key: string) =>
    rows.find(([projection, row]) => projection.name === name && row.key === key)?.[1] as Row<D> | undefined

/** Rows of the documents of streams: the newest ones, and their changes by events. */
const documentRows = (options: MemoryOptions, remembered: ReturnType<typeof revisionTracker>) => {
  const { projections, remember, recall = () => undefined, take = () => false } = options
  const lookups = new Map(projections.map((projection) => [projection, recall(projection)]))
  /** Rows kept so that an appended event that also arrives from the log is applied once. */
  const recent = recentRows()

  const ofStream = (stream: string) => projections.filter(({ category }) => stream.startsWith(`${category}-`))

  /** The newest row of a stream's document that memory or the cache of recent rows holds. */
  const newest = (projection: AnyProjection, stream: string): Row | undefined =>
    lookups.get(projection)?.(keyOf(projection, stream)) ?? recent.get(projection, stream)

  /** Computes the newest rows of a stream's documents and stores them in memory, unless memory has them. */
  const apply = async (stream: string, events: readonly Stored[], known: boolean) => {
    const rows = new Map<AnyProjection, Row>()
    for (const projection of ofStream(stream)) {
      const row = await foldRow(options, projection, events, newest(projection, stream))
      // Memory shares the document of some projections; then only the last events count.
      const size = lookups.get(projection)
        ? events.reduce((sum, { data }) => sum + data.length, 0)
        : JSON.stringify(row.doc ?? null).length
      recent.set(projection, stream, row, size)
      if (!known) {
        remember(projection, row)
        remembered.record({ stream, revision: row.revision, position: row.position })
      }
      rows.set(projection, row)
    }
    return rows
  }

  /** True if memory applied all these events without rows. */
  const taken = (stream: string, events: readonly Stored[]): boolean => {
    const interested = ofStream(stream)
    if (!events.every((event) => interested.every((projection) => take(projection, event)))) return false
    remembered.record(events.at(-1)!)
    return true
  }

  /** True if these events end their documents and memory has applied them, so no row is needed now. */
  const over = (stream: string, events: readonly Stored[], known: boolean): boolean => {
    const ends = (event: Stored) =>
      ofStream(stream).every((projection) => isEnd(projection, event, recent.get(projection, stream)))
    return events.every(ends) && (known || taken(stream, events))
  }

  return { newest, apply, taken, over }
}

/** Applies events to the memory of this instance: its own events at once, all others as they are followed, in order for each document. */
export const memory = (options: MemoryOptions) => {
  const { log, agrees = async () => true } = options
  /** Applies the batches of one stream one after the other, so memory never receives an older row after a newer one. */
  const inTurn = keyedQueue()
  const remembered = revisionTracker()
  const followed = followedEvents()
  const { newest, apply, taken, over } = documentRows(options, remembered)

  /**
   * Returns the rows after the last of these events. If memory has later events, the row is computed from the stream up
   * to these events.
   */
  const applyOwn = async (stream: string, events: readonly Stored[]) => {
    const last = events.at(-1)!
    const below = last.position <= followed.position()
    if (below && !followed.has(last.id)) await insistOnLog(agrees, last)
    const known = below || remembered.has(events)
    if (over(stream, events, known)) return new Map<AnyProjection, Row>()
    const rows = await apply(stream, events, known)
    for (const [projection, row] of rows) {
      if (isBefore(row, last)) await insistOnLog(agrees, last)
      if (row.revision > last.revision) rows.set(projection, await foldRow(options, projection, [last], undefined))
    }
    return rows
  }

  return {
    newest,
    /**
     * Applies events that this instance appended. Returns the rows after them, except of documents that ended. The
     * writer of the views writes these rows later.
     */
    applied: async (events: readonly Stored[]): Promise<RowOf> => {
      const rows: (readonly [AnyProjection, Row])[] = []
      for (const [stream, own] of byStream(events)) rows.push(...(await inTurn(stream, () => applyOwn(stream, own))))
      return rowOf(rows)
    },
    /** Applies events received from the log, unless this instance has applied them when it appended them. */
    applyFollowed: (stream: string, events: readonly Stored[]): Promise<unknown> =>
      inTurn(stream, async () => {
        if (!remembered.has(events) && !taken(stream, events))
          await apply(stream, await wholeAppend(log, events), false)
      }),
    /** Streams of which memory has events that are newer than its position in the log. */
    ahead: remembered.all,
    /** Records that a restored memory has events of these streams that are newer than its position. */
    restored: (ahead: readonly Met[]): void => {
      for (const met of ahead) remembered.record(met)
    },
    /** Records that memory holds every event up to the position; `page`: the last of them. */
    reach: (position: bigint, page: readonly Stored[] = []): void => {
      followed.add(position, page)
      remembered.forget(position)
    },
  }
}

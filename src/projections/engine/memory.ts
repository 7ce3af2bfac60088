import { LRUCache } from 'lru-cache'
import type { Clock } from '../../clock.ts'
import { keyedQueue } from '../../concurrency.ts'
import { refuse } from '../../errors.ts'
import { typeName } from '../../events/define.ts'
import type { EventLog, Stored } from '../../events/log.ts'
import type { AnyProjection } from '../projection.ts'
import type { Row } from '../views.ts'
import { foldRow, keyOf, type Met, revisionTracker, wholeAppend } from './fold-rows.ts'

export type MemoryOptions = {
  readonly clock: Clock
  readonly log: EventLog
  readonly projections: readonly AnyProjection[]
  /** Memory of this instance: gets what it needs of every row at the start, and then each newest row of a document, in order. */
  readonly remember: (projection: AnyProjection, row: Row) => void
  /** The row that memory holds of a document, where it holds whole rows. */
  readonly recall?: (projection: AnyProjection, key: string) => Row | undefined
  /** True where the log is still the one that was followed. */
  readonly agrees?: () => Promise<boolean>
  /** Takes a followed event into memory straight, where no row is needed for it; false where the row must be folded and remembered. */
  readonly take?: (projection: AnyProjection, event: Stored) => boolean
}

/** Rows kept of the documents that changed last, for memory need not hold rows: an event that is followed and then applied is folded once. */
const RECENT = 1_000
/** Ids kept of the events that were followed last, at least. */
const LATELY = 1_000

/** True for a row that claims to be as new as the event, or newer, and stands before it: both cannot be of one log. */
const isBefore = ({ revision, position }: Row, event: Stored): boolean =>
  revision === event.revision ? position !== event.position : revision > event.revision && position < event.position

/** Applies events to the memory of this instance, its own at once and all others as they are followed, each row after the one before it. */
export const memory = (options: MemoryOptions) => {
  const { log, projections, remember, recall = () => undefined } = options
  const { take = () => false, agrees = async () => true } = options
  /** One stream's events are applied one batch after the other, so memory never sees an older row after a newer one. */
  const inTurn = keyedQueue()
  const remembered = revisionTracker()
  const recent = new LRUCache<string, Row>({ max: RECENT })
  /** Ids of the events that were followed last, those before them beside. */
  let [lately, before] = [new Set<string>(), new Set<string>()]
  let followed = 0n

  const ofStream = (stream: string) => projections.filter(({ category }) => stream.startsWith(`${category}-`))

  /** The newest row of a stream's document that memory or the cache of recent rows holds. */
  const newest = (projection: AnyProjection, stream: string): Row | undefined =>
    recall(projection, keyOf(projection, stream)) ?? recent.get(`${projection.name} ${stream}`)

  /** The newest rows of a stream's documents; memory gets them unless it has them already. */
  const apply = async (
    stream: string,
    events: readonly Stored[],
    known: boolean,
  ): Promise<ReadonlyMap<AnyProjection, Row>> => {
    const rows = new Map<AnyProjection, Row>()
    for (const projection of ofStream(stream)) {
      const row = await foldRow(options, projection, events, newest(projection, stream))
      recent.set(`${projection.name} ${stream}`, row)
      if (!known) {
        remember(projection, row)
        remembered.record({ stream, revision: row.revision, position: row.position })
      }
      rows.set(projection, row)
    }
    return rows
  }

  /** True when memory took all of these events straight. */
  const taken = (stream: string, events: readonly Stored[]): boolean => {
    const interested = ofStream(stream)
    if (!events.every((event) => interested.every((projection) => take(projection, event)))) return false
    remembered.record(events.at(-1)!)
    return true
  }

  /** Refuses to go on with a log that is not the one that was followed. */
  const insistOnLog = async ({ stream, position }: Stored) => {
    if (!(await agrees()))
      refuse('backend_unavailable', undefined, {
        cause: new Error(`${stream} was appended at ${position}, which another log had`),
      })
  }
  /** True when the documents are over with these events and memory knows it, so that nobody needs their rows now. */
  const over = (stream: string, events: readonly Stored[], known: boolean): boolean => {
    const ends = (event: Stored) =>
      ofStream(stream).every((projection) => {
        const held = recent.get(`${projection.name} ${stream}`)
        return projection.ends?.has(typeName(event.type)) === true && !(held && isBefore(held, event))
      })
    return events.every(ends) && (known || taken(stream, events))
  }
  const applyOwn = async (stream: string, events: readonly Stored[]) => {
    const last = events.at(-1)!
    const below = last.position <= followed
    if (below && !lately.has(last.id) && !before.has(last.id)) await insistOnLog(last)
    const known = below || remembered.has(events)
    if (over(stream, events, known)) return new Map<AnyProjection, Row>()
    const rows = await apply(stream, events, known)
    for (const row of rows.values()) if (isBefore(row, last)) await insistOnLog(last)
    return rows
  }

  return {
    newest,
    /** Applies events that this instance has just appended; gives the newest rows of their documents, none of those that memory need not fold to know that they are over. */
    applyOwn: (stream: string, events: readonly Stored[]): Promise<ReadonlyMap<AnyProjection, Row>> =>
      inTurn(stream, () => applyOwn(stream, events)),
    /** Applies events that were followed, unless they are this instance's own. */
    applyFollowed: (stream: string, events: readonly Stored[]): Promise<unknown> =>
      inTurn(stream, async () => {
        if (!remembered.has(events) && !taken(stream, events))
          await apply(stream, await wholeAppend(log, events), false)
      }),
    /** Streams of which memory holds events behind that position too. */
    ahead: remembered.all,
    /** Memory holds what it held elsewhere: of these streams, events that lie ahead. */
    restored: (ahead: readonly Met[]): void => {
      for (const met of ahead) remembered.record(met)
    },
    /** Memory holds every event up to the position, these last. */
    reach: (position: bigint, page: readonly Stored[] = []): void => {
      if (lately.size >= LATELY) [lately, before] = [new Set(), lately]
      for (const { id } of page) lately.add(id)
      followed = position
      remembered.forget(position)
    },
  }
}

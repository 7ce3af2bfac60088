import { invalid, isRefusal } from '../errors.ts'
import type { AnyEvent } from '../events/define.ts'
import type { EventLog, Stored } from '../events/log.ts'
import type { FlagStore, Compile, Live } from '../projections/flag-store.ts'
import { type FlagDoc, flags, segmentsAsked } from '../projections/flags.ts'
import { type NamespaceDoc, namespaces } from '../projections/namespaces.ts'
import { compareOrder, lastKnown, type Projection, project, readable } from '../projections/projection.ts'
import { type SegmentDoc, segments } from '../projections/segments.ts'
import { type TokenDoc, tokens } from '../projections/tokens.ts'
import type { Row, Views } from '../projections/views.ts'
import { pacer } from '../concurrency.ts'

/** A moment of the log: after the last event at or before an instant (RFC 3339 UTC with milliseconds) or a position. */
export type Moment = { readonly instant: string } | { readonly position: bigint }

type Reads = Pick<EventLog, 'read' | 'readAll' | 'head'>

const within = (moment: Moment): ((event: Stored) => boolean) =>
  'instant' in moment ? ({ time }) => time <= moment.instant : ({ position }) => position <= moment.position

/**
 * The row of one stream as it stood at a moment, by default as it stands now; undefined before its first event. Throws the reason of a
 * signal that has aborted, between two pages of events.
 */
export const rowAt = async <D extends object, E extends AnyEvent>(
  log: Pick<EventLog, 'read'>,
  projection: Projection<D, E>,
  id: string,
  moment?: Moment,
  signal?: AbortSignal,
): Promise<Row<D> | undefined> => {
  signal?.throwIfAborted()
  const holds = moment ? within(moment) : () => true
  let row: Row<D> | undefined
  for await (const page of log.read(`${projection.category}-${id}`)) {
    signal?.throwIfAborted()
    for (const event of page) {
      if (!holds(event)) return row
      row = project(projection, row, event)
    }
  }
  return row
}

/** What the clock shows, and the time of the newest event, which is later when the clock was ahead once. */
export type Clock = { readonly now: () => Date; readonly newest: () => Date }

/** A clock that asks and one that answers differ a little. */
const CLOCKS_DIFFER_MS = 5_000

/**
 * The moment, as one that has come; 400 `invalid_at` when it is later than the clock and the newest event, or beyond the last position.
 * While that event is ahead of the clock, what happens now carries its time: who names the present then means all there is.
 */
const come = async (log: Reads, { now, newest }: Clock, moment: Moment): Promise<Moment> => {
  if ('position' in moment) {
    if (moment.position > (await log.head())) invalid('at', 'must not be beyond the last position', 'invalid_at')
    return moment
  }
  const [instant, present, last] = [Date.parse(moment.instant), now().getTime(), newest().getTime()]
  if (instant > Math.max(present, last)) invalid('at', 'must not be later than now', 'invalid_at')
  return last > present && instant >= present - CLOCKS_DIFFER_MS ? { position: await log.head() } : moment
}

/** Each thing read once, however often it is asked for. */
const once = <T>(read: (...names: readonly string[]) => Promise<T>) => {
  const known = new Map<string, Promise<T>>()
  return (...names: readonly string[]): Promise<T> => {
    const id = names.join('+')
    const asked = known.get(id) ?? read(...names)
    known.set(id, asked)
    return asked
  }
}

type InNamespace = { readonly incarnation: string }
const living = <D extends object>(row: Row<D> | undefined): Live<D> | undefined =>
  readable(row)?.doc === undefined ? undefined : (row as Live<D>)

/** When the last event of a moment happened, so what the clock showed then; undefined for a position at which no event stands. */
const clockAt = async (log: Reads, moment: Moment): Promise<string | undefined> => {
  if ('instant' in moment) return moment.instant
  if (moment.position > 0n)
    for await (const [event] of log.readAll(moment.position - 1n, moment.position)) if (event) return event.time
  return undefined
}

export type AsOfOptions<C> = {
  readonly log: Reads
  readonly views: Pick<Views, 'scan'>
  /** Knows every key there ever was. */
  readonly flagStore: Pick<FlagStore<C>, 'known'>
  readonly compile: Compile<C>
  readonly clock: Clock
}

/**
 * Namespaces, flags, segments and tokens as they stood at a moment, by the projections of the present. Nothing is kept
 * for it. One resource costs a read of its stream and its namespace's. A list costs one read for every key there ever
 * was. The list of tokens costs a scan of the view for all ids, and a read of each stream. A reading ends at its next
 * step once its signal aborts, with the reason of that.
 */
export const asOf =
  <C>({ log, views, flagStore, compile, clock }: AsOfOptions<C>) =>
  async (asked: Moment, signal: AbortSignal) => {
    const moment = await come(log, clock, asked)
    const pause = pacer()
    const read = async <D extends object, E extends AnyEvent>(
      projection: Projection<D, E>,
      id: string,
    ): Promise<Row<D> | undefined> => {
      await pause()
      return rowAt(log, projection, id, moment, signal)
    }
    const reading = <D extends object, E extends AnyEvent>(projection: Projection<D, E>) =>
      once((...names) => read(projection, names.join('+')))
    const namespaceRow = reading(namespaces)
    const flagRow = reading(flags)
    const segmentRow = reading(segments)

    const ofLife = async <D extends InNamespace>(
      key: string,
      row: Row<D> | undefined,
    ): Promise<Live<D> | undefined> => {
      const namespace = row && (await namespaceRow(key))
      const life = lastKnown(namespace)?.incarnation
      if (life === undefined) readable(namespace)
      return life !== undefined && readable(row)?.doc?.incarnation === life ? living(row) : undefined
    }
    const namespace = async (key: string): Promise<Live<NamespaceDoc> | undefined> => living(await namespaceRow(key))
    const flag = async (namespace: string, key: string): Promise<Live<FlagDoc> | undefined> =>
      ofLife(namespace, await flagRow(namespace, key))
    const segment = async (namespace: string, key: string): Promise<Live<SegmentDoc> | undefined> =>
      ofLife(namespace, await segmentRow(namespace, key))

    let left = 0
    /** Leaves a document out of a list that cannot be read. */
    const leave = (error: unknown): undefined => {
      if (!isRefusal(error, 'event_unreadable')) throw error
      left++
    }
    const list = async <D extends { readonly order: string }>(
      keys: readonly string[],
      read: (key: string) => Promise<Live<D> | undefined>,
    ): Promise<readonly Live<D>[]> => {
      const rows: Live<D>[] = []
      for (const key of keys) {
        const row = await read(key).catch(leave)
        if (row) rows.push(row)
      }
      return rows.sort(compareOrder)
    }

    const compiled = once(async (namespace = '', key = ''): Promise<C | undefined> => {
      const row = await flag(namespace, key)
      if (!row) return undefined
      const used = new Map<string, SegmentDoc | undefined>()
      for (const asked of segmentsAsked(row.doc)) used.set(asked, (await segment(namespace, asked))?.doc)
      return compile(row.doc, (asked) => used.get(asked))
    })

    return {
      namespace,
      flag,
      segment,
      namespaces: () => list(flagStore.known.namespaces(), namespace),
      flags: (namespace: string) => list(flagStore.known.flags(namespace), (key) => flag(namespace, key)),
      segments: (namespace: string) => list(flagStore.known.segments(namespace), (key) => segment(namespace, key)),
      /** How many documents the lists asked for here have left out, because they cannot be read. */
      closed: { namespaces: () => left, flags: () => left, segments: () => left, tokens: () => left },
      /** The flag in the form it is evaluated in. */
      compiled: (namespace: string, key: string) => compiled(namespace, key),
      token: async (id: string): Promise<Live<TokenDoc> | undefined> => living(await read(tokens, id)),
      /** Every token there was, deleted ones too, in no order. */
      tokens: async function* (): AsyncGenerator<TokenDoc> {
        for await (const rows of views.scan(tokens)) {
          for (const { key } of rows) {
            const row = await read(tokens, key)
            if (row?.unreadable) left++
            else if (row?.doc) yield row.doc
          }
        }
      },
      /** What the clock showed, RFC 3339 UTC: by it a token had expired or not. At a position where no event stands, the earliest there is. */
      clock: async (): Promise<string> => (await clockAt(log, asked)) ?? new Date(0).toISOString(),
    }
  }

export type AsOf<C> = Awaited<ReturnType<ReturnType<typeof asOf<C>>>>

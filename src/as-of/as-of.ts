import type { Openness } from '../access/openness.ts'
import { invalid, refuse } from '../base/errors.ts'
import { accessEvents } from '../events/access.ts'
import { type AnyEvent, reader } from '../events/define.ts'
import type { EventLog } from '../events/log.ts'
import { unreadableOf } from '../events/unreadable.ts'
import type { Compile, Live } from '../projections/flag-memory/namespace-state.ts'
import { type FlagDoc, flags, segmentsAsked } from '../projections/flags.ts'
import { lastKnown, type Projection, project, readable } from '../projections/projection.ts'
import { type NamespaceDoc, namespaces, type SegmentDoc, segments } from '../projections/resource-model.ts'
import { type TokenDoc, tokens } from '../projections/tokens.ts'
import type { Row, View } from '../projections/views.ts'
import { type ListSources, listsAsOf, type ReadAsOf } from './lists.ts'
import { type AsOfReads, viewBehind, WAIT_MS } from './reads.ts'
import type { TokenListRequest } from './tokens.ts'

const read = reader(accessEvents)

/**
 * Returns the settings of access without a credential at a position, as the history recorded them. The result is
 * undefined if nothing is recorded.
 */
export const opennessAt = async (log: Pick<EventLog, 'read'>, position: bigint): Promise<Openness | undefined> => {
  let last: Openness | undefined
  try {
    for await (const page of log.read('access-main'))
      for (const event of page) {
        if (last && event.position > position) return last
        last = read(event.type, event.data).data
      }
  } catch (error) {
    if (unreadableOf(error)) refuse('event_unreadable')
    throw error
  }
  return last
}

/** A moment of the log: after the last event up to an instant (RFC 3339 UTC with milliseconds) or up to a position. */
export type Moment = { readonly instant: string } | { readonly position: bigint }

type Reads = Pick<EventLog, 'readAll' | 'head'>

/** The present row of one stream; undefined before its first event. */
export const rowNow = async <D extends object, E extends AnyEvent>(
  log: Pick<EventLog, 'read'>,
  projection: Projection<D, E>,
  id: string,
): Promise<Row<D> | undefined> => {
  let row: Row<D> | undefined
  for await (const page of log.read(`${projection.category}-${id}`))
    for (const event of page) row = project(projection, row, event)
  return row
}

/** The present time, and the time of the newest event, which is later if a clock was ahead. */
type Clock = { readonly now: () => Date; readonly newest: () => Date }

/** Maximum number of documents per read. */
const ASKED = 128

/** Tolerance in ms between the clocks of the client and of the service. */
const CLOCKS_DIFFER_MS = 5_000

/**
 * Checks that the moment is not in the future. Refuses with 400 `invalid_at` if it is later than the clock and the
 * newest event, or beyond the last position. While the newest event is ahead of the clock, new events get its time, so
 * an instant close to the present means the end of the log. `name` is the field of the moment.
 */
const insistOnCome = async (log: Reads, { now, newest }: Clock, moment: Moment, name: string): Promise<Moment> => {
  if ('position' in moment) {
    if (moment.position > (await log.head())) invalid(name, 'must not be beyond the last position', 'invalid_at')
    return moment
  }
  const [instant, present, last] = [Date.parse(moment.instant), now().getTime(), newest().getTime()]
  if (instant > Math.max(present, last)) invalid(name, 'must not be later than now', 'invalid_at')
  return last > present && instant >= present - CLOCKS_DIFFER_MS ? { position: await log.head() } : moment
}

/** Caches reads, so that each name is read once. */
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

/** The instant of a moment; for a position the time of its event, undefined if it has no event. */
const clockAt = async (log: Reads, moment: Moment): Promise<string | undefined> => {
  if ('instant' in moment) return moment.instant
  if (moment.position > 0n)
    for await (const [event] of log.readAll(moment.position - 1n, moment.position)) if (event) return event.time
  return undefined
}

type AsOfOptions<C> = ListSources & {
  readonly log: Reads
  /** Resolves to true once a view contains every event up to the position, to false after `withinMs` milliseconds. */
  readonly viewsReached: (view: View, position: bigint, withinMs: number) => Promise<boolean>
  readonly reads: AsOfReads
  readonly compile: Compile<C>
  readonly clock: Clock
}

/**
 * Namespaces, flags, segments and tokens as of a moment, all computed from the same events of the log. A document is
 * computed from its last stored state. Lists are computed without reading the streams of their documents; `load` reads
 * the documents of a page. Reads stop at the next step after the signal aborts, and reject with its reason. `name` is the
 * field that a refusal of the moment names.
 */
export const asOf =
  <C>(sources: AsOfOptions<C>) =>
  async (asked: Moment, signal: AbortSignal, name = 'at') => {
    const { log, viewsReached, reads, closed, compile, clock } = sources
    signal.throwIfAborted()
    const come = await insistOnCome(log, clock, asked, name)
    const position = 'position' in come ? come.position : await reads.positionOf(come.instant, signal)
    const readFirst: ReadAsOf = async ({ name }, ids) => {
      const wanted = ids.slice(0, ASKED).map((id) => [name, id] as const)
      return (await reads.rows(position, wanted, signal)) as never
    }
    const read: ReadAsOf = async <D extends object, E extends AnyEvent>(
      model: Projection<D, E>,
      ids: readonly string[],
    ) => {
      const rows: (Row<D> | undefined)[] = []
      while (rows.length < ids.length)
        rows.push(...(await readFirst(model, ids.slice(rows.length, rows.length + ASKED))))
      return rows
    }
    const reading = <D extends object, E extends AnyEvent>(projection: Projection<D, E>) =>
      once(async (...names) => (await read(projection, [names.join('+')]))[0])
    const [namespaceRow, flagRow, segmentRow] = [reading(namespaces), reading(flags), reading(segments)]

    const lifeOf = async (key: string, row: Row | undefined): Promise<string | undefined> => {
      const namespace = await namespaceRow(key)
      const life = lastKnown(namespace)?.incarnation
      if (life === undefined && row) readable(namespace)
      return life
    }
    const ofLife = async <D extends InNamespace>(
      key: string,
      reading: Promise<Row<D> | undefined>,
    ): Promise<Live<D> | undefined> => {
      const [row] = await Promise.all([reading, namespaceRow(key)])
      const life = row && (await lifeOf(key, row))
      return life !== undefined && readable(row)?.doc?.incarnation === life ? living(row) : undefined
    }
    const namespace = async (key: string): Promise<Live<NamespaceDoc> | undefined> => living(await namespaceRow(key))
    const flag = (namespace: string, key: string): Promise<Live<FlagDoc> | undefined> =>
      ofLife(namespace, flagRow(namespace, key))
    const segment = (namespace: string, key: string): Promise<Live<SegmentDoc> | undefined> =>
      ofLife(namespace, segmentRow(namespace, key))

    const lists = listsAsOf({ ...sources, position, signal, read, readFirst, lifeOf: (key) => lifeOf(key, undefined) })

    const compiled = once(async (namespace = '', key = ''): Promise<C | undefined> => {
      const row = await flag(namespace, key)
      if (!row) return undefined
      const asked = [...segmentsAsked(row.doc)]
      const used = await Promise.all(asked.map(async (one) => [one, (await segment(namespace, one))?.doc] as const))
      const docs = new Map(used)
      return compile(row.doc, (one) => docs.get(one))
    })

    return {
      /**
       * Position of the moment, and its instant. The instant of a position is the time of its event; it is undefined if
       * the position has no event.
       */
      moment: async () => ({ position, instant: await clockAt(log, asked) }),
      namespace,
      flag,
      segment,
      ...lists,
      /** The compiled flag. */
      compiled,
      /** Rows of streams of one read model, unreadable and deleted ones included; undefined for an unwritten stream. */
      rows: read,
      token: async (id: string): Promise<Live<TokenDoc> | undefined> => living((await read(tokens, [id]))[0]),
      /** One page of tokens, oldest first, the total over all pages, and the number of unreadable tokens left out. */
      tokens: async (asked: Omit<TokenListRequest, 'closed'>) => {
        if (!(await viewsReached(tokens, position, WAIT_MS))) viewBehind(position)
        const unreadable = closed.all(tokens.category).map(([id]) => id)
        const { ids, total, left } = await reads.tokens(position, { ...asked, closed: unreadable }, signal)
        return { docs: (await read(tokens, ids)).flatMap((row) => row?.doc ?? []), total, left }
      },
      /** The instant of the moment (RFC 3339 UTC), for checks of token expiry. The epoch if its position has no event. */
      clock: async (): Promise<string> => (await clockAt(log, asked)) ?? new Date(0).toISOString(),
    }
  }

export type AsOf<C> = Awaited<ReturnType<ReturnType<typeof asOf<C>>>>

import { isRefusal, refuse } from '../base/errors.ts'
import { sliced, timeSlicer } from '../base/event-loop.ts'
import { type FairGate, fairGate } from '../base/gate.ts'
import type { EventLog, ReadParts, Stored, StreamStart } from '../events/log.ts'
import { unreadableOf } from '../events/unreadable.ts'
import { resources } from '../projections/all.ts'
import { type Mark, markBefore, markSeals, markView, type Sealed, settled } from '../projections/history/log-marks.ts'
import { foldFrom, STATE_EVERY, type State, stateSeals, stateView } from '../projections/history/stream-states.ts'
import { type AnyProjection, project } from '../projections/projection.ts'
import { type TokenDoc, tokens } from '../projections/tokens.ts'
import type { FindLeast, Row, Views } from '../projections/views.ts'
import { type TokenListRequest, type TokenPlaces, tokensAt } from './tokens.ts'

/** Runs a query on a view within the limit of concurrent reads; undefined while the view is unavailable. */
type Guarded = <T>(work: () => Promise<T>) => Promise<T | undefined>
/** The log, with reads that reject after the signal aborts. */
type LogFor = (signal: AbortSignal) => Pick<EventLog, 'read' | 'readAll'>

type Sources = {
  readonly log: Pick<EventLog, 'head'>
  readonly views: Pick<Views, 'list' | 'getMany' | 'checkpoint'>
  readonly key: Uint8Array
}

/** Finds the position of an instant with the marks, and between two marks with the log. */
const positionFinder = (
  { log, views, key }: Sources,
  ask: Guarded,
  logFor: LogFor,
): ((instant: string, signal: AbortSignal) => Promise<bigint>) => {
  const marks = markSeals(key)
  const find = async <D extends object>(keys: readonly string[]) =>
    (await ask(() => views.getMany<D>(markView, keys))) ?? []

  /** The first mark after an instant. */
  const markBehind = async (instant: string): Promise<Mark | undefined> => {
    const query = { where: { time: { from: `${instant}~` } }, order: 'time', limit: 1 }
    const doc = (await ask(() => views.list<Sealed<Mark>>(markView, query)))?.rows[0]?.doc
    return doc && marks.holds(doc) ? doc : undefined
  }

  return async (instant, signal) => {
    signal.throwIfAborted()
    const behind = await markBehind(instant)
    let index = behind?.index ?? (await ask(() => views.checkpoint(markView)))?.events ?? 0
    let mark = await markBefore(find, marks.holds, index)
    for (; mark && mark.time > instant; mark = await markBefore(find, marks.holds, index)) ({ index } = mark)
    let [position, time] = [BigInt(mark?.at ?? 0), mark?.time ?? '']
    const to = behind ? BigInt(behind.at) : await log.head()
    for await (const page of logFor(signal).readAll(position, to)) {
      for (const event of page) {
        time = settled(time, event)
        if (time > instant) return position
        ;({ position } = event)
      }
    }
    return position
  }
}

/** Timeout in ms for the views or memory to reach the position of an answer. */
export const WAIT_MS = 2_000

export const viewBehind = (position: bigint): never =>
  refuse('view_behind', `view is behind position ${position}`, { headers: { 'retry-after': '1' } })

/** Batch reads of an embedded store, cheaper than one read per stream. */
type Together = { readonly least: FindLeast; readonly parts: ReadParts }

/** Read model and stream of a document. */
type Source = { readonly model: AnyProjection; readonly stream: string }

/** A log with one page of one stream. */
const onePage = (page: readonly Stored[]) => ({
  read: async function* () {
    yield page
  },
})

type Reading = Together & {
  readonly ask: Guarded
  readonly hold: <T>(work: () => Promise<T>) => Promise<T>
  readonly holds: (state: Sealed<State>) => boolean
  readonly pause: ReturnType<typeof timeSlicer>
}

/**
 * Returns the rows of the first of the documents at a position, computed from stored states and events that are read
 * together. A document is read with `alone` if its stored state is outdated or it has too many events. Returns no row
 * if the first document exceeds the size of a batch.
 */
const rowsTogether =
  ({ least, parts, ask, hold, holds, pause }: Reading) =>
  async (
    position: bigint,
    sources: readonly Source[],
    alone: (n: number) => Promise<Row | undefined>,
    signal: AbortSignal,
  ): Promise<readonly (Row | undefined)[]> => {
    const streams = sources.map(({ stream }) => stream)
    const from = { by: 'stream', order: 'before', from: -Number(position) }
    const found = (await ask(() => least<Sealed<State>>(stateView, streams, from))) ?? []
    const states = found.map((state) => (state && holds(state) ? state : undefined))
    const begins = states.map((state, n): StreamStart => [streams[n]!, BigInt(state?.revision ?? 0)])
    const pages = await hold(() => parts(begins, STATE_EVERY + 1, position))
    const rows: (Row | undefined)[] = []
    for await (const part of sliced([pages.entries()], pause))
      for (const [n, events] of part) {
        signal.throwIfAborted()
        const { model, stream } = sources[n]!
        const row = events ? await foldFrom(onePage(events), model, stream, states[n], () => true) : 'stale'
        rows.push(row === 'stale' ? await alone(n) : row)
      }
    return rows
  }

/** A document: the name of its read model, and its key. */
export type Wanted = readonly [model: string, key: string]

/** Reads of past states. Each rejects with the reason of its signal once that aborts. */
export type AsOfReads = {
  /**
   * Position of the last event whose settled time is not later than an instant (RFC 3339 UTC with milliseconds); 0n if
   * there is none.
   */
  readonly positionOf: (instant: string, signal: AbortSignal) => Promise<bigint>
  /**
   * Rows of the first of the documents at a position: at least one, and as many as fit into one read. A row is
   * undefined before the first event of its document.
   */
  readonly rows: (
    position: bigint,
    wanted: readonly Wanted[],
    signal: AbortSignal,
  ) => Promise<readonly (Row | undefined)[]>
  /** Ids of one page of tokens at a position, oldest first by default. */
  readonly tokens: (position: bigint, asked: TokenListRequest, signal: AbortSignal) => Promise<TokenPlaces>
}

type AsOfSources = {
  readonly log: Pick<EventLog, 'read' | 'readAll' | 'head'>
  readonly views: Pick<Views, 'list' | 'values' | 'getMany' | 'checkpoint'>
  /** Batch reads, if the store has them. */
  readonly together?: Together
  /** Key of the MACs of marks and states. */
  readonly key: Uint8Array
  /** Maximum number of concurrent document reads, and of concurrent reads of the stores. */
  readonly atOnce: number
}

const sourceOf = ([name, id]: Wanted): Source => {
  const model = resources.find((each) => each.name === name)!
  return { model, stream: `${model.category}-${id}` }
}

/**
 * Documents per read, as a multiple of `atOnce`. The number limits memory, because an answer may have no memory for
 * more documents.
 */
const GO = 2

/** Maps items with `atOnce` concurrent workers. The workers stop at the first failure. */
const each = async <T, R>(items: readonly T[], atOnce: number, work: (item: T) => Promise<R>): Promise<R[]> => {
  const results: R[] = []
  let [next, failed] = [0, false]
  const worker = async () => {
    while (next < items.length && !failed) {
      const n = next++
      try {
        results[n] = await work(items[n]!)
      } catch (error) {
        failed = true
        throw error
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  return results
}

/**
 * Returns the row of a stream that is too short to have stored states, such as that of a token; undefined if the stream
 * is longer.
 */
const whole = async (
  log: Pick<EventLog, 'read'>,
  model: AnyProjection,
  stream: string,
  within: (event: Stored) => boolean,
): Promise<{ readonly row: Row | undefined } | undefined> => {
  let row: Row | undefined
  let events = 0
  for await (const page of log.read(stream, 0n, STATE_EVERY)) {
    for (const event of page) {
      if (!within(event)) return { row }
      row = project(model, row, event)
    }
    events += page.length
  }
  return events < STATE_EVERY ? { row } : undefined
}

/** Returns a log whose reads respect the limit of concurrent reads, and reject after the signal aborts. */
const limitedLog =
  (log: AsOfSources['log'], places: FairGate, pause: ReturnType<typeof timeSlicer>): LogFor =>
  (signal) => {
    const watched = async function* <T>(pages: AsyncIterable<T>): AsyncGenerator<T> {
      const source = pages[Symbol.asyncIterator]()
      try {
        for (;;) {
          const { done, value } = await places.run(() => source.next())
          if (done) return
          signal.throwIfAborted()
          yield value
          await pause()
          signal.throwIfAborted()
        }
      } finally {
        await source.return?.()
      }
    }
    return {
      read: (stream, from, most, upTo) => watched(log.read(stream, from, most, upTo)),
      readAll: (after, to) => watched(log.readAll(after, to)),
    }
  }

/** Reads past states in this thread, with marks and states if available, else from the log alone. */
export const asOfReads = ({ log, views, together, key, atOnce }: AsOfSources): AsOfReads => {
  const places = fairGate({ total: atOnce })
  const pause = timeSlicer()
  const states = stateSeals(key)

  const logFor = limitedLog(log, places, pause)
  const ask: Guarded = (work) =>
    places.run(work).catch((error: unknown) => {
      // Views only make reads faster here.
      if (isRefusal(error, 'backend_unavailable')) return undefined
      throw error
    })
  const stateAt = async (stream: string, position: bigint): Promise<State | undefined> => {
    const where = { stream: { equals: [stream] }, before: { from: -Number(position) } }
    const query = { where, order: 'before', limit: 1 }
    const doc = (await ask(() => views.list<Sealed<State>>(stateView, query)))?.rows[0]?.doc
    return doc && states.holds(doc) ? doc : undefined
  }

  const rowAt = async (position: bigint, wanted: Wanted, signal: AbortSignal): Promise<Row | undefined> => {
    signal.throwIfAborted()
    const [{ model, stream }, own] = [sourceOf(wanted), logFor(signal)]
    const within = (event: Stored) => event.position <= position
    const fold = (state?: State) => foldFrom(own, model, stream, state, within, position)
    try {
      const short = model.name === tokens.name ? await whole(own, model, stream, within) : undefined
      if (short) return short.row
      const row = await fold(await stateAt(stream, position))
      return row === 'stale' ? ((await fold()) as Row | undefined) : row
    } catch (error) {
      const closed = unreadableOf(error)
      if (!closed) throw error
      return { key: wanted[1], revision: 0n, position: 0n, changes: 0n, doc: undefined, unreadable: closed }
    }
  }

  const ofMany = together && rowsTogether({ ...together, ask, hold: places.run, holds: states.holds, pause })
  const rowsAt = async (position: bigint, wanted: readonly Wanted[], signal: AbortSignal) => {
    const alone = (one: Wanted) => rowAt(position, one, signal)
    if (!ofMany) return each(wanted, atOnce, alone)
    const rows = await ofMany(position, wanted.map(sourceOf), (n) => alone(wanted[n]!), signal)
    return rows.length > 0 ? rows : [await alone(wanted[0]!)]
  }

  return {
    positionOf: positionFinder({ log, views, key }, ask, logFor),
    rows: (position, wanted, signal) => rowsAt(position, wanted.slice(0, GO * atOnce), signal),
    tokens: (position, asked, signal) => {
      const held = <T>(work: () => Promise<T>): Promise<T> => {
        signal.throwIfAborted()
        return places.run(work)
      }
      const list: Views['list'] = (view, query) => held(() => views.list(view, query))
      const values: Views['values'] = (...args) => held(() => views.values(...args))
      const read = (ids: readonly string[]) =>
        each(ids, atOnce, (id) => rowAt(position, [tokens.name, id], signal)) as Promise<(Row<TokenDoc> | undefined)[]>
      return tokensAt({ views: { list, values }, read }, position, asked)
    },
  }
}

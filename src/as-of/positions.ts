import type { EventLog } from '../events/log.ts'
import type { Sealed } from '../projections/history/log-marks.ts'
import { type Mark, markBefore, markSeals, markView, settled } from '../projections/history/log-marks.ts'
import type { Views } from '../projections/views.ts'

/** Runs a query on a view within the limit of concurrent reads; undefined while the view is unavailable. */
export type Guarded = <T>(work: () => Promise<T>) => Promise<T | undefined>
/** The log, with reads that reject after the signal aborts. */
export type LogFor = (signal: AbortSignal) => Pick<EventLog, 'read' | 'readAll'>

type Sources = {
  readonly log: Pick<EventLog, 'head'>
  readonly views: Pick<Views, 'list' | 'getMany' | 'checkpoint'>
  readonly key: Uint8Array
}

/** Finds the position of an instant with the marks, and between two marks with the log. */
export const positionFinder = (
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

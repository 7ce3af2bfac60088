import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import type { EventLog, Stored } from '../../events/log.ts'
import type { AnyProjection } from '../projection.ts'
import type { Checkpoint, Row, View } from '../views.ts'

/** Sources of the rows of a log projection: the log, and the existing rows of the given keys. */
export type Sources = {
  readonly log: Pick<EventLog, 'read' | 'readAll'>
  readonly find: <D extends object>(keys: readonly string[]) => Promise<readonly Row<D>[]>
}

/**
 * A read model of the log itself: returns the rows of the events directly after a checkpoint. The rows do not depend on
 * the writer or on repeated writes. A missing row only makes queries slower.
 */
export type LogProjection = View & {
  /** Number of events in a block, if the read model is brought forward in the background by whole blocks. */
  readonly block?: number
  readonly rowsOf: (sources: Sources, from: Checkpoint, page: readonly Stored[]) => Promise<readonly Row[]>
}

/** A read model of any kind. */
export type ReadModel = AnyProjection | LogProjection

export const isLogProjection = (model: ReadModel): model is LogProjection => 'rowsOf' in model

/** A document with a MAC over its content. */
export type Sealed<D> = D & { readonly mac: string }

/** Adds and verifies the MACs of documents of one kind. `content`: a text that differs for different documents. */
export const seals = <D extends object>(key: Uint8Array, kind: string, content: (doc: D) => string) => {
  const own = createSecretKey(createHmac('sha256', key).update(`rollcall ${kind}`).digest())
  const macOf = (doc: D) => createHmac('sha256', own).update(content(doc)).digest('base64url')
  return {
    seal: (doc: D): Sealed<D> => ({ ...doc, mac: macOf(doc) }),
    holds: (doc: Sealed<D>): boolean => {
      const [given, due] = [Buffer.from(doc.mac), Buffer.from(macOf(doc))]
      return given.length === due.length && timingSafeEqual(given, due)
    },
  }
}

/** Every event whose index is a multiple of this has a mark. */
export const MARK_EVERY = 256
/** Number of marks per query if some are missing. */
const BATCH = 64

/** Index and position of an event, and its settled time: the greatest time of all events up to it. */
export type Mark = { readonly index: number; readonly at: number; readonly time: string }

const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/

/** Settled time after an event: the greater of the two times. An invalid time is ignored. */
export const settled = (before: string, { time }: Pick<Stored, 'time'>): string =>
  time > before && INSTANT.test(time) ? time : before

export const markKey = (index: number): string => String(index).padStart(16, '0')

/** Marks in the log, for finding the position of an instant. */
export const markView: View = { name: 'log_marks', version: 2, fields: ['time'], indexes: [{ by: ['time'] }] }

export const markSeals = (key: Uint8Array) =>
  seals<Mark>(key, 'mark', ({ index, at, time }) => JSON.stringify([index, at, time]))

/** The last stored mark before an index; undefined if there is none. */
export const markBefore = async (
  find: Sources['find'],
  holds: (mark: Sealed<Mark>) => boolean,
  index: number,
): Promise<Mark | undefined> => {
  let batch = 1
  for (let last = Math.floor((index - 1) / MARK_EVERY) * MARK_EVERY; last >= 0; ) {
    const keys = Array.from({ length: batch }, (_, n) => last - n * MARK_EVERY).filter((each) => each >= 0)
    const rows = await find<Sealed<Mark>>(keys.map(markKey))
    const found = rows.flatMap(({ doc }) => (doc && holds(doc) ? doc : [])).sort((a, b) => b.index - a.index)[0]
    if (found) return found
    last -= batch * MARK_EVERY
    batch = BATCH
  }
  return undefined
}

/** Log projection that creates the marks. */
export const logMarks = (key: Uint8Array): LogProjection => {
  const { seal, holds } = markSeals(key)
  let known = { position: 0n, time: '' }

  /** Settled time (greatest event time so far) at a checkpoint. */
  const timeAt = async ({ log, find }: Sources, { position, events }: Checkpoint): Promise<string> => {
    if (known.position === position) return known.time
    if (events === 0) return ''
    const mark = await markBefore(find, holds, events)
    let time = mark?.time ?? ''
    for await (const page of log.readAll(BigInt(mark?.at ?? 0), position))
      for (const event of page) time = settled(time, event)
    return time
  }

  return {
    ...markView,
    rowsOf: async (sources, from, page) => {
      let time = await timeAt(sources, from)
      const rows: Row[] = []
      for (const [n, event] of page.entries()) {
        time = settled(time, event)
        const index = from.events + n
        if (index % MARK_EVERY !== 0) continue
        const { position } = event
        const doc = seal({ index, at: Number(position), time })
        rows.push({ key: markKey(index), revision: 0n, position, changes: 0n, doc })
      }
      const { position } = page.at(-1)!
      known = { position, time }
      return rows
    },
  }
}

import type { Stored } from '../../events/log.ts'
import type { Checkpoint, Row, View } from '../views.ts'
import { type LogProjection, type Sealed, type Sources, seals } from './log-projection.ts'

/** The first record of every so many is marked. */
const MARK_EVERY = 256
/** Marks looked for at once where some are missing. */
const BATCH = 64

/** Where a record stands, of which so many stand before it, and the greatest time of all up to it. */
export type Mark = { readonly index: number; readonly at: number; readonly time: string }

const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/

/** The settled time behind an event: no time is ever before one that was met. What is no instant says nothing. */
export const settled = (before: string, { time }: Pick<Stored, 'time'>): string =>
  time > before && INSTANT.test(time) ? time : before

export const markKey = (index: number): string => String(index).padStart(16, '0')

/** Marks in the log, by which an instant is found. */
export const markView: View = { name: 'log_marks', version: 2, fields: ['time'], indexes: [{ by: ['time'] }] }

export const markSeals = (key: Uint8Array) => seals<Mark>(key, 'mark', ({ index, at, time }) => [index, at, time])

/** The last mark that is kept before an index; undefined where there is none. */
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

/** Makes the marks. */
export const logMarks = (key: Uint8Array): LogProjection => {
  const { seal, holds } = markSeals(key)
  let known = { position: 0n, time: '' }

  /** The settled time where a checkpoint stands. */
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

import type { Log } from '../events/log.ts'
import { project } from '../projections/projection.ts'
import { type TokenDoc, tokens } from '../projections/tokens.ts'
import type { Row } from '../projections/views.ts'
import { come, type Moment, rowAt } from './travel.ts'

type Reads = Pick<Log, 'read' | 'readAll' | 'head'>

/** The time by which expiry counted at a moment: the instant itself, or that of the event there. */
const clockAt = async (log: Reads, moment: Moment, otherwise: string): Promise<Date> => {
  if ('instant' in moment) return new Date(moment.instant)
  for await (const [event] of log.readAll(moment.position - 1n, moment.position)) if (event) return new Date(event.time)
  return new Date(otherwise)
}

/** One record as it stood at a moment, if there was one, and the time by which its expiry counted then. 400 `invalid_at` for a moment that has not come. */
export const tokenAt = async (log: Reads, now: () => Date, id: string, moment: Moment) => {
  await come(log, now, moment)
  const row = await rowAt(log, tokens, id, moment)
  return { row, time: await clockAt(log, moment, row?.doc?.updatedAt ?? '1970-01-01T00:00:00.000Z') }
}

/**
 * Every authentication record there ever was as it stood at a moment, oldest first (createdAt, then id), and the time by which
 * expiry counted then: the instant itself, or that of the last event. One pass over the log. 400 `invalid_at` for a moment that has not come.
 */
export const tokensAt = async (log: Reads, now: () => Date, moment: Moment) => {
  await come(log, now, moment)
  const rows = new Map<string, Row<TokenDoc>>()
  let time = 'instant' in moment ? moment.instant : ''
  const past = log.readAll(0n, 'position' in moment ? moment.position : undefined)
  read: for await (const page of past) {
    for (const event of page) {
      if ('instant' in moment) {
        if (event.time > moment.instant) break read
      } else time = event.time
      if (event.stream.startsWith(`${tokens.category}-`)) rows.set(event.stream, project(tokens, rows.get(event.stream), event))
    }
  }
  const docs = [...rows.values()].flatMap(({ doc }) => doc ?? [])
  const place = ({ createdAt, id }: TokenDoc) => `${createdAt} ${id}`
  return { docs: docs.sort((a, b) => (place(a) < place(b) ? -1 : 1)), time: new Date(time || 0) }
}

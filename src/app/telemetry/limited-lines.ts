import { format } from 'node:util'
import type { Clock, Timer } from '../../base/clock.ts'
import type { Metrics } from '../../http/metrics/metrics.ts'
import type { OnLargeHeaders } from '../../http/wire/connections.ts'
import type { Progress } from '../../projections/engine/rebuild.ts'
import type { Logger } from './logger.ts'

const EVERY_MS = 5_000

/** Logs the progress of a rebuild, at most every five seconds. */
export const progressLines = (
  logger: Pick<Logger, 'info'>,
  { monotonic }: Pick<Clock, 'monotonic'>,
): ((progress: Progress) => void) => {
  let lastLine = monotonic()
  return ({ done, position, head }) => {
    if (monotonic() - lastLine < EVERY_MS) return
    lastLine = monotonic()
    const percent = Math.floor((100 * Number(position)) / Number(head))
    logger.info({ events: done, position: String(position), head: String(head), percent }, 'building read models')
  }
}

const COUNTED = 10_000

const places: Readonly<Record<string, string>> = {
  embedded: 'subjects.sqlite',
  mongodb: 'the collection "subjects" of MongoDB',
}

/** Reports subjects whose key is lost: counts each once, and logs one ERROR line that does not name the subject. */
export const lostSubjects = (
  { subjectsLost }: Pick<Metrics, 'subjectsLost'>,
  logger: Pick<Logger, 'error'>,
  adapter: string,
) => {
  const met = new Set<string>()
  const cell = subjectsLost()
  return (subject: string): void => {
    if (met.size >= COUNTED || met.has(subject)) return
    met.add(subject)
    cell.value++
    if (met.size > 1) return
    const place = places[adapter] ?? adapter
    logger.error(
      { adapter, advice: `restore the keys from the newest backup of ${place}` },
      `personal data cannot be read: a key in ${place} is missing, destroyed or another one, but the history has no erasure; the data is shown as lost`,
    )
  }
}

/** A spell is over when no request was refused for this time (ms). */
const QUIET_MS = 600_000

/** Logs spells of requests with too large headers: one WARN line at the first request, one INFO line after the last. */
export const largeHeaderSpells = (
  logger: Pick<Logger, 'info' | 'warn'>,
  { after }: Pick<Clock, 'after'>,
): OnLargeHeaders => {
  let requests = 0
  let quiet: Timer | undefined
  const over = (): void => {
    logger.info({ requests }, 'no request with too large headers has arrived for ten minutes')
    requests = 0
  }
  return (client) => {
    if (requests === 0)
      logger.warn(
        { client },
        'a request was refused because its headers are too large (431); if the client is an evaluation engine, its If-None-Match has grown too long, and it evaluates old flags until it is restarted',
      )
    requests++
    quiet?.cancel()
    quiet = after(QUIET_MS, over).unref()
  }
}

const MINUTE_MS = 60_000
/** Maximum number of keys that are tracked, and of UTF-16 units of each. */
const [MOST, LONGEST] = [1_000, 1_000]

type Write = (record: Readonly<Record<string, unknown>>, message: string) => void

/** Writes a line at most once a minute per key. */
export const oncePerMinute = (write: Write, now: () => Date) => {
  const lastLogged = new Map<string, number>()
  return (text: string, record: Readonly<Record<string, unknown>>, message: string): void => {
    const what = text.slice(0, LONGEST)
    const time = now().getTime()
    if (time - (lastLogged.get(what) ?? Number.NEGATIVE_INFINITY) < MINUTE_MS) return
    lastLogged.delete(what)
    if (lastLogged.size >= MOST) lastLogged.delete(lastLogged.keys().next().value!)
    lastLogged.set(what, time)
    write(record, message)
  }
}

/**
 * Logs warnings of Node.js, and lines that packages print, as WARN lines instead of raw text on standard error. Equal
 * lines are logged once a minute. The result undoes this.
 */
export const logForeignLines = (log: Pick<Logger, 'warn'>, { now }: Pick<Clock, 'now'>): (() => void) => {
  const warn = oncePerMinute((record, message) => log.warn(record, message), now)
  const warned = ({ name, message }: Error): void =>
    warn(`${name} ${message}`, { warning: name, why: message }, 'Node.js or a package reports a warning')
  const printed = (...values: readonly unknown[]): void => {
    const why = format(...values)
    warn(why, { why }, 'a package printed a line')
  }
  const listeners = process.listeners('warning')
  const { warn: oldWarn, error: oldError } = console
  process.removeAllListeners('warning').on('warning', warned)
  Object.assign(console, { warn: printed, error: printed })
  return () => {
    process.off('warning', warned)
    for (const listener of listeners) process.on('warning', listener)
    Object.assign(console, { warn: oldWarn, error: oldError })
  }
}

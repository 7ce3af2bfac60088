import { serviceNow } from '../api/clock.ts'
import type { Preferences } from '../preferences.ts'
import { once } from '../words/common.ts'

type Zone = Preferences['zone']

/** A format of instants, in each zone. */
const inZones = (locale: string, options: Intl.DateTimeFormatOptions) => ({
  utc: once(() => new Intl.DateTimeFormat(locale, { ...options, timeZone: 'UTC' })),
  browser: once(() => new Intl.DateTimeFormat(locale, options)),
})
const parts = { day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit' } as const
const toMinute = inZones('en-GB', { ...parts, hourCycle: 'h23' })
const toSecond = inZones('en-GB', { ...parts, second: '2-digit', hourCycle: 'h23' })
const days = inZones('sv-SE', { dateStyle: 'short' })
const inputs = inZones('sv-SE', { dateStyle: 'short', timeStyle: 'short' })
const offsets = once(() => new Intl.DateTimeFormat('en-GB', { timeZoneName: 'shortOffset' }))
const browserZone = once(() => toMinute.browser().resolvedOptions().timeZone)

/** The name of a time zone: the browser's own, or UTC. */
export const zoneName = (zone: Zone): string => (zone === 'utc' ? 'UTC' : browserZone())

/** An instant in words: `10 Jun 2031, 09:30`, with seconds where order matters. */
export const instantWords = (instant: string, zone: Zone, seconds = false): string =>
  (seconds ? toSecond : toMinute)[zone]().format(new Date(instant))

/** The same with its zone. */
export const fullWords = (instant: string, zone: Zone): string =>
  `${instantWords(instant, zone, true)} (${zoneName(zone)})`

const units = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const
const relative = once(() => new Intl.RelativeTimeFormat('en', { numeric: 'always' }))
const WEEK_MS = 7 * 86_400_000
/** The service tells its clock in seconds: what has just happened may seem ahead of it by less than one. */
const CLOCK_STEP_MS = 1000

/** The distance of an instant from now, `3 minutes ago`; undefined from seven days on. */
export const distanceWords = (instant: string, now = serviceNow()): string | undefined => {
  const ms = Date.parse(instant) - now
  if (Math.abs(ms) >= WEEK_MS) return undefined
  const seconds = ms / 1000
  for (const [unit, length] of units)
    if (Math.abs(seconds) >= length) return relative().format(Math.trunc(seconds / length), unit)
  return ms > CLOCK_STEP_MS ? 'in less than a minute' : 'just now'
}

/** What an instant means: in the zone of the person, which is named, and in UTC; both are one where that is the zone. */
export const meaningOf = (instant: string, zone: Zone): readonly [local: string, utc: string] => {
  const offset = offsets()
    .formatToParts(new Date(instant))
    .find(({ type }) => type === 'timeZoneName')
  const seconds = new Date(instant).getUTCSeconds() !== 0
  const utc = instantWords(instant, 'utc', seconds)
  if (/^(?:Etc\/)?UTC$/.test(zoneName(zone))) return [utc, utc]
  return [`${instantWords(instant, zone, seconds)} ${offset?.value ?? ''} (${zoneName(zone)})`, utc]
}

/** Whether two instants are of one day where the person is. */
export const isSameDay = (one: string, other: number, zone: Zone): boolean => {
  const day = days[zone]()
  return day.format(new Date(one)) === day.format(other)
}

/** What the field `datetime-local` holds for an instant: local time to the minute. */
export const localInput = (instant: Date, zone: Zone): string => inputs[zone]().format(instant).replace(' ', 'T')

const MINUTE_MS = 60_000
/** The longest gap that a change of clocks ever left, in minutes. */
const LONGEST_GAP = 24 * 60

/** The moment after the gap in which a local time lies that the browser took as much later as the gap is long. */
const afterGap = (late: Date): Date => {
  const offset = late.getTimezoneOffset()
  for (let minutes = 0; minutes < LONGEST_GAP; minutes++) {
    const before = new Date(late.getTime() - (minutes + 1) * MINUTE_MS)
    if (before.getTimezoneOffset() !== offset) return new Date(late.getTime() - minutes * MINUTE_MS)
  }
  return late
}

/** The instant that a text of `datetime-local` means: a time left out by a change of clocks means the moment after the gap, one that comes twice the first. */
export const instantOfInput = (text: string, zone: Zone): Date | undefined => {
  const found = new Date(zone === 'utc' ? `${text}Z` : text)
  if (Number.isNaN(found.getTime())) return undefined
  return text.startsWith(localInput(found, zone)) ? found : afterGap(found)
}

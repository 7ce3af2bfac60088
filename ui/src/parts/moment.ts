import { serviceNow } from '../api/clock.ts'
import { isInstant } from '../at.ts'
import type { Preferences } from '../preferences.ts'
import { once } from '../words/common.ts'

type Zone = Preferences['zone']

/** Creates a formatter of instants for each time zone. */
const inZones = (locale: string, options: Intl.DateTimeFormatOptions) => ({
  utc: once(() => new Intl.DateTimeFormat(locale, { ...options, timeZone: 'UTC' })),
  browser: once(() => new Intl.DateTimeFormat(locale, options)),
})
const parts = { day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit' } as const
const toMinute = inZones('en-GB', { ...parts, hourCycle: 'h23' })
const toSecond = inZones('en-GB', { ...parts, second: '2-digit', hourCycle: 'h23' })
const days = inZones('sv-SE', { dateStyle: 'short' })
const inputs = inZones('sv-SE', { dateStyle: 'short', timeStyle: 'medium' })
const offsets = once(() => new Intl.DateTimeFormat('en-GB', { timeZoneName: 'shortOffset' }))
const browserZone = once(() => toMinute.browser().resolvedOptions().timeZone)

/** Name of the browser's time zone, or UTC. */
export const zoneName = (zone: Zone): string => (zone === 'utc' ? 'UTC' : browserZone())

/** Formats an instant: `10 Jun 2031, 09:30`, optionally with seconds. */
export const instantWords = (instant: string, zone: Zone, seconds = false): string =>
  (seconds ? toSecond : toMinute)[zone]().format(new Date(instant))

/** Text of the service with its instants in the user's time zone. Texts in quotes are not the service's own. */
export const inZone = (text: string, zone: Zone): string =>
  text.replaceAll(/"(?:\\.|[^"\\])*"|\d{4}-\d\d-\d\dT[\d:.]+Z/g, (part) =>
    part.startsWith('"') ? part : instantWords(part, zone),
  )

/** Formats an instant with seconds and the time zone. */
export const fullWords = (instant: string, zone: Zone): string =>
  `${instantWords(instant, zone, true)} (${zoneName(zone)})`

const units = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const
const relative = once(() => new Intl.RelativeTimeFormat('en', { numeric: 'always' }))
const WEEK_MS = 7 * 86_400_000
/**
 * Resolution of the service's clock: its `Date` header has whole seconds, so a new event can appear to be in the
 * future.
 */
const CLOCK_STEP_MS = 1000

/** Formats the distance of an instant from now, `3 minutes ago`; undefined from seven days on. */
export const distanceWords = (instant: string, now = serviceNow()): string | undefined => {
  const ms = Date.parse(instant) - now
  if (Math.abs(ms) >= WEEK_MS) return undefined
  const seconds = ms / 1000
  for (const [unit, length] of units)
    if (Math.abs(seconds) >= length) return relative().format(Math.trunc(seconds / length), unit)
  return ms > CLOCK_STEP_MS ? 'in less than a minute' : 'just now'
}

/** Formats an instant in the user's time zone, with its name, and in UTC. Both texts are equal if the zone is UTC. */
export const meaningOf = (instant: string, zone: Zone): readonly [local: string, utc: string] => {
  const offset = offsets()
    .formatToParts(new Date(instant))
    .find(({ type }) => type === 'timeZoneName')
  const seconds = new Date(instant).getUTCSeconds() !== 0
  const utc = instantWords(instant, 'utc', seconds)
  if (/^(?:Etc\/)?UTC$/.test(zoneName(zone))) return [utc, utc]
  return [`${instantWords(instant, zone, seconds)} ${offset?.value ?? ''} (${zoneName(zone)})`, utc]
}

/** Whether two instants are on the same day in the user's time zone. */
export const isSameDay = (one: string, other: number, zone: Zone): boolean => {
  const day = days[zone]()
  return day.format(new Date(one)) === day.format(other)
}

/** Value of a `datetime-local` input for an instant: local time to the second. */
export const localInput = (instant: Date, zone: Zone): string => inputs[zone]().format(instant).replace(' ', 'T')

const MINUTE_MS = 60_000
/** Length of `2031-06-10T09:30:00`. */
const SECONDS = 19
/** Longest gap in any time zone's history, in minutes. */
const LONGEST_GAP = 24 * 60

/**
 * Returns the first instant after a gap in local time. The browser resolves a local time inside a gap to one that is
 * later by the length of the gap.
 */
const afterGap = (late: Date): Date => {
  const offset = late.getTimezoneOffset()
  for (let minutes = 0; minutes < LONGEST_GAP; minutes++) {
    const before = new Date(late.getTime() - (minutes + 1) * MINUTE_MS)
    if (before.getTimezoneOffset() !== offset) return new Date(late.getTime() - minutes * MINUTE_MS)
  }
  return late
}

/**
 * Parses the value of a `datetime-local` input. A local time inside a gap resolves to the end of the gap, an ambiguous
 * one to the first occurrence.
 */
export const instantOfInput = (text: string, zone: Zone): Date | undefined => {
  const instant = zone === 'utc' ? `${text}Z` : text
  if (!isInstant(instant)) return undefined
  const found = new Date(instant)
  return localInput(found, zone).startsWith(text.slice(0, SECONDS)) ? found : afterGap(found)
}

/** A point in time: whole seconds since 1970 UTC, rounded down, and the nanoseconds (0–999999999) behind them. */
export type Instant = { readonly seconds: number; readonly nanoseconds: number }

const form = /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d?):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d)))?$/

/** `Date.UTC` takes the years 0–99 for 1900–1999, so dates are reckoned 400 years (one whole turn of the calendar) later. */
const TURN = { years: 400, seconds: 146_097 * 86_400 }

/** The instant that a text stands for (api.md §8.4, datetime text; a date is its midnight UTC), or undefined if it stands for none. */
export const parseDatetime = (text: string): Instant | undefined => {
  const parts = form.exec(text)
  if (!parts) return undefined
  const part = (n: number): number => Number(parts[n] ?? 0)
  const [month, day] = [part(2), part(3)]
  const date = new Date(Date.UTC(part(1) + TURN.years, month - 1, day))
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined
  if (part(4) > 23 || part(5) > 59 || part(6) > 59 || part(9) > 24 || part(10) > 60) return undefined
  const time = part(4) * 3600 + part(5) * 60 + part(6)
  const offset = (parts[8] === '-' ? -60 : 60) * (part(9) * 60 + part(10))
  return {
    seconds: date.getTime() / 1000 - TURN.seconds + time - offset,
    nanoseconds: Number((parts[7] ?? '').slice(0, 9).padEnd(9, '0')),
  }
}

/** Negative, zero or positive as `one` is before, at or after `other`. */
export const compareInstants = (one: Instant, other: Instant): number => one.seconds - other.seconds || one.nanoseconds - other.nanoseconds

/**
 * The form in which a datetime is stored: UTC with whole seconds, or the date it was. Undefined if it is no datetime, or lies in no year
 * from 0000 to 9999 once it is in UTC, as it could then not be read again.
 */
export const normalDatetime = (text: string): string | undefined => {
  const instant = parseDatetime(text)
  if (!instant || !text.includes('T')) return instant && text
  const date = new Date(instant.seconds * 1000)
  const year = date.getUTCFullYear()
  return year < 0 || year > 9999 ? undefined : `${date.toISOString().slice(0, 19)}Z`
}

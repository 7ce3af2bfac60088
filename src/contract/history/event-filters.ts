import { Type } from 'typebox'
import { invalid } from '../../base/errors.ts'
import type { Field } from '../readers/field.ts'
import { absent, text } from '../readers/fields.ts'
import { positionOf } from '../readers/moment.ts'
import { fits, lengthOf } from '../readers/value.ts'

/**
 * Values of a filter. `any`: the event must have one of these values (empty: every value matches). `none`: the event
 * must have none of these values.
 */
type Values = { readonly any: readonly string[]; readonly none: readonly string[] }

const VALUES_MAX = 20
const [Q_MIN, Q_MAX] = [3, 200]

/** Values of a list separated by commas. A backslash escapes a comma and a backslash. */
const listed = (text: string): readonly string[] => {
  const values: string[] = ['']
  for (let n = 0; n < text.length; n++) {
    const unit = text[n]!
    if (unit === ',') values.push('')
    else values[values.length - 1] += unit === '\\' && /[\\,]/.test(text[n + 1] ?? '') ? text[++n]! : unit
  }
  return values.filter((value) => value !== '')
}

const unlimited = text({ stored: false })

/**
 * Filter with a list of values; values that begin with `!` are excluded. An absent or empty filter is undefined.
 * `isKnown` refuses other values.
 */
export const filterValues = (isKnown: (value: string) => boolean = () => true): Field<Values | undefined> => ({
  schema: Type.String(),
  optional: true,
  read: (value, name) => {
    const given = listed(unlimited.read(value, name))
    if (given.length === 0) return undefined
    if (given.length > VALUES_MAX) invalid(name, `must contain at most ${VALUES_MAX} elements`)
    const none = given.filter((one) => one.startsWith('!')).map((one) => one.slice(1))
    const any = given.filter((one) => !one.startsWith('!'))
    const unknown = [...any, ...none].find((one) => !isKnown(one))
    return unknown === undefined ? { any, none } : invalid(name, `unknown value "${unknown}"`)
  },
})

/** A position of the log, which need not have an event. */
export const position: Field<bigint | undefined> = {
  schema: Type.String(),
  optional: true,
  read: (value, name) => {
    const given = unlimited.read(value, name)
    return given === '' ? undefined : (positionOf(given) ?? invalid(name, 'must be a position'))
  },
}

/** Index of an event in a query; -1 stands for the position before the first event. */
export const index: Field<number | undefined> = {
  schema: Type.Integer({ minimum: -1 }),
  optional: true,
  read: (value, name) => {
    if (absent(value)) return undefined
    const given = unlimited.read(value, name)
    const number = /^(?:-1|0|[1-9]\d{0,15})$/.test(given) ? Number(given) : undefined
    return number !== undefined && Number.isSafeInteger(number) ? number : invalid(name, 'must be an index')
  },
}

/** Text that summary, reason, stream, type or route contains. */
export const searchText: Field<string | undefined> = {
  schema: Type.String({ minLength: Q_MIN, maxLength: Q_MAX }),
  optional: true,
  read: (value, name) => {
    const given = unlimited.read(value, name)
    if (given === '') return undefined
    const isInBounds = fits(given, Q_MAX) && lengthOf(given) >= Q_MIN
    return isInBounds ? given : invalid(name, `must be ${Q_MIN} to ${Q_MAX} characters`)
  },
}

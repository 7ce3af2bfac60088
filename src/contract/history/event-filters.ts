import { Type } from 'typebox'
import { invalid } from '../../base/errors.ts'
import { type FilterValues, filterValuesIn } from '../../verifier/export/filter.ts'
import { absent, text } from '../readers/fields.ts'
import { positionOf } from '../readers/moment.ts'
import { type Field, fits, lengthOf } from '../readers/value.ts'

const VALUES_MAX = 20
const [Q_MIN, Q_MAX] = [3, 200]

const unlimited = text({ stored: false })

/**
 * Filter with a list of values; values that begin with `!` are excluded. An absent or empty filter is undefined.
 * `isKnown` refuses other values.
 */
export const filterValues = (isKnown: (value: string) => boolean = () => true): Field<FilterValues | undefined> => ({
  schema: Type.String(),
  optional: true,
  read: (value, name) => {
    const given = filterValuesIn(unlimited.read(value, name))
    const all = given ? [...given.any, ...given.none] : []
    if (all.length > VALUES_MAX) invalid(name, `must contain at most ${VALUES_MAX} elements`)
    const unknown = all.find((one) => !isKnown(one))
    return unknown === undefined ? given : invalid(name, `unknown value "${unknown}"`)
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

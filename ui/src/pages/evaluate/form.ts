import { isImprecise, jsonFlaw } from '../../parts/fields/json-flaw.ts'
import { evaluate as words } from '../../words/evaluate.ts'
import { PREFIX, type Search } from './search.ts'

/** Property of an entity. A private one appears neither in the address nor in copies. */
export type Row = { readonly property: string; readonly value: string; readonly private: boolean }

/** Evaluation as typed. With `json` that text is the context, and the rows only mark private properties. */
export type Form = {
  readonly flag: string
  readonly entity: string
  readonly rows: readonly Row[]
  readonly json?: string | undefined
}
export type Flaws = Readonly<Record<string, string>>

/** Maximum length of a query, because a longer address does not survive a sign-in or every browser. */
const MOST_SEARCH = 1500
/** Maximum number of parameters that the service accepts (api.md §1.1). */
const MOST_PARAMETERS = 100

export const formOf = ({ flag = '', entity = '', ...rest }: Search): Form => ({
  flag,
  entity,
  rows: Object.entries(rest).map(([name, value]) => ({ property: name.slice(PREFIX.length), value, private: false })),
})

/** Whether an address contains an evaluation. */
export const isQuestion = ({ flag, entity }: Search): boolean => flag !== undefined && entity !== undefined

/** Converts a JSON value to text as the service does (api.md §10). */
const textOf = (value: unknown): string => {
  if (typeof value === 'string') return value
  return value === null ? '' : typeof value === 'number' ? String(value) : JSON.stringify(value)
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const membersOf = (json: string): readonly [string, unknown][] | undefined => {
  const value: unknown = JSON.parse(json)
  return isObject(value) ? Object.entries(value) : undefined
}

const privateOf = (rows: readonly Row[]): ReadonlySet<string> =>
  new Set(rows.filter((row) => row.private).map(({ property }) => property))

const isBlank = ({ property, value }: Row): boolean => property === '' && value === ''

/** Converts a valid context to rows. */
export const rowsOf = ({ rows, json }: Form): readonly Row[] => {
  if (json === undefined) return rows.filter((row) => !isBlank(row))
  const hidden = privateOf(rows)
  const members = json.trim() === '' ? [] : (membersOf(json) ?? [])
  return members.map(([property, value]) => ({ property, value: textOf(value), private: hidden.has(property) }))
}

const jsonWrong = (json: string): string | undefined =>
  json.trim() === ''
    ? undefined
    : (jsonFlaw(json) ??
      (isImprecise(JSON.parse(json)) ? words.jsonLarge : membersOf(json) ? undefined : words.jsonObject))

const rowWrong = (row: Row, before: readonly Row[]): string | undefined => {
  if (isBlank(row)) return undefined
  if (row.property === '') return words.propertyMissing
  return before.some(({ property }) => property === row.property) ? words.propertyTwice : undefined
}

/** Validation errors of the context by field. */
export const contextFlaws = ({ rows, json }: Form): Flaws => {
  const found =
    json === undefined
      ? rows.map((row, n): [string, string | undefined] => [`row.${n}`, rowWrong(row, rows.slice(0, n))])
      : [['json', jsonWrong(json)] as const]
  return Object.fromEntries(found.filter((pair): pair is [string, string] => pair[1] !== undefined))
}

export const flawsOf = (form: Form): Flaws => ({
  ...(form.flag === '' && { flag: words.flagMissing }),
  ...contextFlaws(form),
})

/** Formats the context as JSON for further editing. */
export const jsonOf = (form: Form): string =>
  JSON.stringify(Object.fromEntries(rowsOf(form).map(({ property, value }) => [property, value])), null, 2)

export const contextOf = (rows: readonly Row[]): Readonly<Record<string, string>> =>
  Object.fromEntries(rows.map(({ property, value }) => [property, value]))

/** Rows of the context that are not private. */
export const publicOf = (form: Form): readonly Row[] => rowsOf(form).filter((row) => !row.private)

/** Query of the evaluation; keeps only the flag if the address would be too long. */
export const searchOf = (form: Form): Search => {
  const { flag, entity } = form
  const whole = {
    flag,
    entity,
    ...Object.fromEntries(publicOf(form).map(({ property, value }) => [PREFIX + property, value])),
  }
  const isTooLong =
    Object.keys(whole).length > MOST_PARAMETERS || new URLSearchParams(whole).toString().length > MOST_SEARCH
  return isTooLong ? { flag } : whole
}

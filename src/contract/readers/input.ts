import { type TObject, type TSchema, Type } from 'typebox'
import { invalid, refuse } from '../../base/errors.ts'
import { type Field, type Input, type Raw, settle } from './value.ts'

export type Fields = Readonly<Record<string, Field<unknown>>>
export type ReadOf<F extends Fields> = { readonly [K in keyof F]: F[K] extends Field<infer T> ? T : never }

/** TypeScript type that an input reads to. */
export type ReadBy<I> = I extends Input<infer T, never> ? T : never

const schemaOf = (fields: Fields, name?: string): TObject =>
  Type.Object(
    Object.fromEntries(
      Object.entries(fields).map(([name, { schema, optional }]): [string, TSchema] => [
        name,
        optional ? Type.Optional(schema) : schema,
      ]),
    ),
    name === undefined ? {} : { $id: name },
  )

/** Converts a name between camelCase and snake_case. */
const respelled = (name: string): string =>
  name.includes('_')
    ? name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    : name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const bothSpellings = (name: string, other: string): never =>
  refuse('malformed_body', `request body is not valid: ${name} and ${other} are the same field`)

/**
 * Returns a field of a raw body by either spelling of its name; null and absent are undefined. Refuses both spellings
 * at once with 400 `malformed_body`.
 */
export const member = (raw: Raw, name: string, other: string = respelled(name)): unknown => {
  const given = Object.hasOwn(raw, name) ? raw[name] : undefined
  if (other === name || !Object.hasOwn(raw, other)) return given ?? undefined
  return Object.hasOwn(raw, name) ? bothSpellings(name, other) : (raw[other] ?? undefined)
}

/** Value of an absent field, frozen because all requests share it; undefined if the field refuses absence. */
const absenceOf = (name: string, { read }: Field<unknown>): { readonly value: unknown } | undefined => {
  try {
    return { value: Object.freeze(read(undefined, name)) }
  } catch {
    return undefined
  }
}

/**
 * Reader for a JSON object with fields in camelCase or snake_case. Messages use the declared name. Unknown fields are
 * ignored. `name` is its name in OpenAPI.
 */
export const input = <F extends Fields>(fields: F, name?: string): Input<ReadOf<F>> & { readonly fields: F } => {
  const members = Object.entries(fields).map(([name, field]) => {
    const absence = absenceOf(name, field)
    return { name, field, absence: absence?.value, refusesAbsence: absence === undefined }
  })
  const absent = Object.fromEntries(members.map(({ name, absence }) => [name, absence]))
  const declared = new Map(
    members.flatMap(({ name }, n) => [respelled(name), name].map((spelling) => [spelling, n] as const)),
  )
  const spellings = members.map(({ name }) => [name, respelled(name)] as const)

  /** Values of all fields, collected in one pass over the body. */
  const given = (raw: Raw): readonly unknown[] => {
    const values: unknown[] = []
    for (const spelling in raw) {
      const n = declared.get(spelling)
      if (n === undefined) continue
      if (n in values) bothSpellings(...spellings[n]!)
      values[n] = raw[spelling] ?? undefined
    }
    return values
  }

  return {
    fields,
    schema: schemaOf(fields, name),
    read: (raw, under) => {
      const read: Record<string, unknown> = { ...absent }
      const values = given(raw)
      let wrong: Error | undefined
      for (let n = 0; n < members.length; n++) {
        const { name, field, refusesAbsence } = members[n]!
        const value = values[n]
        if (value === undefined && !refusesAbsence) continue
        try {
          read[name] = field.read(value, under === undefined ? name : `${under}.${name}`)
        } catch (error) {
          wrong = settle(error, wrong)
        }
      }
      if (wrong) throw wrong
      return read as ReadOf<F>
    },
  }
}

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}

const nothing: ReadonlyMap<string, string> = new Map()

/**
 * Decoded parameters of a query string, in order. `text` is undefined for invalid percent-encoding. `bare`: there is no
 * `=`.
 */
export type Query = readonly { readonly name: string; readonly text: string | undefined; readonly bare: boolean }[]

const noQuery: Query = []

/** Parses a raw query string (without `?`). */
export const queryIn = (raw: string): Query =>
  raw === ''
    ? noQuery
    : raw.split('&').map((pair) => {
        const equals = pair.indexOf('=')
        const bare = equals < 0
        return {
          name: decoded(bare ? pair : pair.slice(0, equals)) ?? '',
          text: bare ? '' : decoded(pair.slice(equals + 1)),
          bare,
        }
      })

/** Returns true if the query contains the parameter, in any form (`?pretty`, `?pretty=`, `?pretty=x`). */
export const named = (query: Query, name: string): boolean => query.some((one) => one.name === name)

/**
 * Reader for query parameters in camelCase or snake_case. A repeated parameter: 400. An empty one is absent. A
 * parameter without `=` is true for a boolean, otherwise absent.
 */
export const query = <F extends Fields>(
  fields: F,
): Input<ReadOf<F>, Query> & { readonly given: (query: Query) => ReadonlyMap<string, string> } => {
  const parameters = Object.entries(fields).map(([name, field]) => [name, field, absenceOf(name, field)] as const)
  const declared = new Map(
    parameters.flatMap(([name]) => [respelled(name), name].map((spelling) => [spelling, name] as const)),
  )

  const given = (query: Query): ReadonlyMap<string, string> => {
    const spellings = new Map<string, string>()
    const texts = new Map<string, string>()
    for (const { name: spelling, text, bare } of query) {
      const name = declared.get(spelling)
      if (name === undefined) continue
      const before = spellings.get(name)
      if (before === spelling) invalid(name, 'given twice')
      if (before !== undefined) bothSpellings(name, respelled(name))
      spellings.set(name, spelling)
      const value = bare && fields[name]?.query ? 'true' : text
      texts.set(name, value ?? invalid(name, 'is not valid percent-encoding'))
    }
    return texts
  }

  const readFrom = (texts: ReadonlyMap<string, string>): ReadOf<F> => {
    const read: Record<string, unknown> = {}
    for (const [name, field, absence] of parameters) {
      const text = texts.get(name)
      if (text === undefined || text === '') read[name] = absence ? absence.value : field.read(undefined, name)
      else read[name] = field.query ? field.query(text, name) : field.read(text, name)
    }
    return read as ReadOf<F>
  }

  /** Cached result for a request without a query, which is the common case. */
  let unasked: ReadOf<F> | undefined
  return {
    schema: schemaOf(fields),
    /** Texts of the declared parameters of a query, by declared name. */
    given,
    read: (query) => (query.length === 0 ? (unasked ??= readFrom(nothing)) : readFrom(given(query))),
  }
}

import { named } from './types.ts'
import type { Fault, Kind } from './setting.ts'

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const json = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const bare = <V>(entries: Iterable<readonly [string, V]>): Readonly<Record<string, V>> =>
  Object.assign(Object.create(null) as Record<string, V>, Object.fromEntries(entries))

export const list = <T>(item: Kind<T>): Kind<readonly T[]> => ({
  words: `list of ${item.words}s`.replace('texts', 'text'),
  read: (value, fault) => {
    if (!Array.isArray(value)) return fault(`expected a list, got ${named(value)}`)
    const items = value.map((entry, n) =>
      item.read(entry, (description, part = '') => fault(description, `[${n}]${part}`)),
    )
    return items.filter((entry) => entry !== undefined)
  },
  parse: (text) =>
    /^\s*\[/.test(text)
      ? json(text)
      : text
          .split(',')
          .map((entry) => entry.trim())
          .filter((entry) => entry !== ''),
  show: (value) => value.map((entry) => item.show(entry)),
  schema: { type: 'array', items: item.schema },
})

/** A map without entries, and without a prototype that would seem to have some. */
export const empty = bare<never>([])

/** A map from text to a kind. */
export const map = <T>(item: Kind<T>): Kind<Readonly<Record<string, T>>> => ({
  words: `map of ${item.words}`,
  read: (value, fault) => {
    if (!isMap(value)) return fault(`expected a map, got ${named(value)}`)
    const entries = Object.entries(value).map(([name, entry]) => [
      name,
      item.read(entry, (description, part = '') => fault(description, `.${name}${part}`)),
    ])
    return bare(entries.filter((entry): entry is [string, T] => entry[1] !== undefined))
  },
  parse: json,
  show: (value) => Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, item.show(entry)])),
  schema: { type: 'object', additionalProperties: item.schema },
})

/** A map with exactly these members. */
export const record = <M extends Readonly<Record<string, Kind<unknown>>>>(
  members: M,
): Kind<{ readonly [K in keyof M]: M[K] extends Kind<infer V> ? V : never }> => ({
  words: `{${Object.keys(members).join(', ')}}`,
  read: (value, fault: Fault) => {
    if (!isMap(value)) return fault(`expected a map with ${Object.keys(members).join(', ')}, got ${named(value)}`)
    for (const name of Object.keys(value)) if (!Object.hasOwn(members, name)) fault('is not a setting', `.${name}`)
    const entries = Object.entries(members).map(([name, kind]) => [
      name,
      value[name] === undefined
        ? fault('is required', `.${name}`)
        : kind.read(value[name], (description, part = '') => fault(description, `.${name}${part}`)),
    ])
    return Object.fromEntries(entries) as { readonly [K in keyof M]: M[K] extends Kind<infer V> ? V : never }
  },
  parse: json,
  show: (value) => value,
  schema: {
    type: 'object',
    properties: Object.fromEntries(Object.entries(members).map(([name, kind]) => [name, kind.schema])),
    required: Object.keys(members),
    additionalProperties: false,
  },
})

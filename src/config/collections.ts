import { isObject } from '../auth/identity.ts'
import type { Fault, SettingKind } from './setting.ts'
import { named } from './types.ts'

const json = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const bare = <V>(entries: Iterable<readonly [string, V]>): Readonly<Record<string, V>> =>
  Object.assign(Object.create(null) as Record<string, V>, Object.fromEntries(entries))

export const list = <T>(item: SettingKind<T>): SettingKind<readonly T[]> => ({
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

/** A map without entries and without a prototype. */
export const empty = bare<never>([])

/** A map from names to values of one kind. */
export const map = <T>(item: SettingKind<T>): SettingKind<Readonly<Record<string, T>>> => ({
  words: `map of ${item.words}`,
  read: (value, fault) => {
    if (!isObject(value)) return fault(`expected a map, got ${named(value)}`)
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

type Members = Readonly<Record<string, SettingKind<unknown>>>
type ValuesOf<M extends Members> = { readonly [K in keyof M]: M[K] extends SettingKind<infer V> ? V : never }

/** A map with these fields and no others. All but the optional ones are required; an incomplete map is rejected. */
export const record = <M extends Members, O extends Members>(
  members: M,
  optional: O,
): SettingKind<ValuesOf<M> & Partial<ValuesOf<O>>> => ({
  words: `{${[...Object.keys(members), ...Object.keys(optional).map((name) => `${name}?`)].join(', ')}}`,
  read: (value, fault: Fault) => {
    const all: Members = { ...members, ...optional }
    if (!isObject(value)) return fault(`expected a map with ${Object.keys(all).join(', ')}, got ${named(value)}`)
    let whole = true
    const reject = (name: string, description: string, part = ''): undefined => {
      whole = false
      return fault(description, `.${name}${part}`)
    }
    for (const name of Object.keys(value)) if (!Object.hasOwn(all, name)) reject(name, 'is not a setting')
    const entries = Object.entries(all).map(([name, kind]) => {
      if (value[name] !== undefined)
        return [name, kind.read(value[name], (description, part) => reject(name, description, part))]
      return [name, Object.hasOwn(members, name) ? reject(name, 'is required') : undefined]
    })
    if (!whole) return undefined
    return Object.fromEntries(entries.filter(([, entry]) => entry !== undefined)) as ValuesOf<M> & Partial<ValuesOf<O>>
  },
  parse: json,
  show: (value) => value,
  schema: {
    type: 'object',
    properties: Object.fromEntries(
      Object.entries({ ...members, ...optional }).map(([name, kind]) => [name, kind.schema]),
    ),
    required: Object.keys(members),
    additionalProperties: false,
  },
})

/** One of several maps, distinguished by the value of a field. */
export const variants = <V extends Members>(by: string, kinds: V): SettingKind<ValuesOf<V>[keyof V]> => ({
  words: Object.values(kinds)
    .map(({ words }) => words)
    .join(' or '),
  read: (value, fault) => {
    if (!isObject(value)) return fault(`expected a map, got ${named(value)}`)
    const word = value[by]
    const kind = typeof word === 'string' && Object.hasOwn(kinds, word) ? kinds[word] : undefined
    const words = Object.keys(kinds).map((one) => JSON.stringify(one))
    if (kind === undefined)
      return fault(word === undefined ? 'is required' : `must be one of ${words.join(', ')}`, `.${by}`)
    return kind.read(value, fault) as ValuesOf<V>[keyof V] | undefined
  },
  parse: json,
  show: (value) => value,
  schema: { anyOf: Object.values(kinds).map(({ schema }) => schema) },
})

/** A list with a minimum and maximum length. */
export const counted = <T>(
  kind: SettingKind<readonly T[]>,
  { least = 0, most }: { readonly least?: number; readonly most?: number },
): SettingKind<readonly T[]> => ({
  ...kind,
  read: (value, fault) => {
    const items = kind.read(value, fault)
    const count = Array.isArray(value) ? value.length : least
    if (count < least) return fault('must not be empty')
    return most !== undefined && count > most ? fault(`must contain at most ${most} elements`) : items
  },
  schema: {
    ...kind.schema,
    ...(least === 0 ? {} : { minItems: least }),
    ...(most === undefined ? {} : { maxItems: most }),
  },
})

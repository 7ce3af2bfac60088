/**
 * Reports a problem of a value; `part` is the location within it, such as `[1]`. Never quotes the value, because it may
 * be a secret.
 */
export type Fault = (description: string, part?: string) => undefined

/** A type of values: parsing, display and documentation. */
export type SettingKind<T> = {
  /** Name of the type in the documentation. */
  readonly words: string
  /** Converts the plain value of a file; returns undefined after a fault. */
  readonly read: (value: unknown, fault: Fault) => T | undefined
  /** Converts the text of an environment variable to the plain value that a file would contain. */
  readonly parse: (text: string) => unknown
  /** Plain value for display; undefined for secrets. */
  show(value: T): unknown
  readonly schema: Readonly<Record<string, unknown>>
  /** True for texts, which a variable that ends in `_FILE` can read from a file. */
  readonly textual?: true
}

/** A default that depends on other settings. */
export type Derived<T> = { readonly shown: string; readonly from: (get: (key: string) => unknown) => T }

export type Setting<T> = { readonly kind: SettingKind<T>; readonly initial: unknown; readonly sentence: string }

/** A map from names to groups of settings. */
type MapOf<P> = { readonly each: P; readonly names: RegExp; readonly sentence: string }

/** Values of a table of settings. The groups of a map keep their given order. */
export type Values<T> =
  T extends Setting<infer V>
    ? V
    : T extends MapOf<infer P>
      ? ReadonlyMap<string, Values<P>>
      : { readonly [K in keyof T]: Values<T[K]> }

export type Group = { readonly [name: string]: Node }
export type Node = Setting<unknown> | MapOf<Group> | Group

type Set = {
  <T>(kind: SettingKind<T>, initial: NoInfer<T> | Derived<NoInfer<T>>, sentence: string): Setting<T>
  <T>(
    kind: SettingKind<T>,
    initial: undefined | Derived<NoInfer<T> | undefined>,
    sentence: string,
  ): Setting<T | undefined>
}
/** A setting: its type, its default (undefined = not set) and its description. */
export const setting: Set = <T>(kind: SettingKind<T>, initial: unknown, sentence: string): Setting<T> => ({
  kind,
  initial,
  sentence,
})

/** Marks a setting without a default. */
export const required: Derived<never> = {
  shown: 'required',
  from: () => {
    throw new Error('a setting that is required must not have a default')
  },
}

export const isSetting = (node: Node): node is Setting<unknown> => 'kind' in node && 'initial' in node
export const isMany = (node: Node): node is MapOf<Group> => 'each' in node
/** Fields of a map in their order. In a plain object, numeric names come first. */
export const membersOf = (map: object): readonly (readonly [name: string, member: unknown])[] =>
  map instanceof Map ? Array.from(map, ([name, member]) => [String(name ?? ''), member] as const) : Object.entries(map)

export const isDerived = (initial: unknown): initial is Derived<unknown> =>
  typeof initial === 'object' && initial !== null && 'from' in initial

/** Key of a member of a group; the key of the table itself is empty. */
export const keyIn = (group: string, name: string): string => (group === '' ? name : `${group}.${name}`)

/** All settings of a table with their keys. `namesOf` returns the names in a map; `*` stands for all of them. */
export const leaves = (
  node: Node,
  key = '',
  namesOf: (map: string) => Iterable<string> = () => ['*'],
): readonly (readonly [string, Setting<unknown>])[] => {
  if (isSetting(node)) return [[key, node]]
  const groups = isMany(node) ? Array.from(namesOf(key), (name) => [name, node.each] as const) : Object.entries(node)
  return groups.flatMap(([name, inner]) => leaves(inner, keyIn(key, name), namesOf))
}

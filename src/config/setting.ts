/** Reports what is wrong with a value; `part` is the place within it, such as `[1]`. The value itself is never quoted: it may be a secret. */
export type Fault = (description: string, part?: string) => undefined

/** A kind of value: how it is read, shown and described. */
export type SettingKind<T> = {
  /** As the documentation names it. */
  readonly words: string
  /** The value of a file's plain value; undefined after a fault. */
  readonly read: (value: unknown, fault: Fault) => T | undefined
  /** The plain value that a file would hold, from the text of an environment variable. */
  readonly parse: (text: string) => unknown
  /** The plain value to show people; undefined when it must not be shown. */
  show(value: T): unknown
  readonly schema: Readonly<Record<string, unknown>>
  /** A text kind may also be given as the name of a file, in a variable that ends in `_FILE`. */
  readonly textual?: true
}

/** A default that follows from other settings. */
export type Derived<T> = { readonly shown: string; readonly from: (get: (key: string) => unknown) => T }

export type Setting<T> = { readonly kind: SettingKind<T>; readonly initial: unknown; readonly sentence: string }

/** A map from a name to a group of settings of its own. */
type MapOf<P> = { readonly each: P; readonly names: RegExp; readonly sentence: string }

/** What a table of settings holds once it is read; the groups of a map are in the order in which they were given. */
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
/** One setting: its kind, its default (undefined = not set) and the sentence that says what it does. */
export const setting: Set = <T>(kind: SettingKind<T>, initial: unknown, sentence: string): Setting<T> => ({
  kind,
  initial,
  sentence,
})

/** Stands in the place of a default where there is none. */
export const required: Derived<never> = {
  shown: 'required',
  from: () => {
    throw new Error('a required setting has no default')
  },
}

export const isSetting = (node: Node): node is Setting<unknown> => 'kind' in node && 'initial' in node
export const isMany = (node: Node): node is MapOf<Group> => 'each' in node
/** The members of a map, in their order where it is one that keeps it: in an object, names of digits come first. */
export const membersOf = (map: object): readonly (readonly [name: string, member: unknown])[] =>
  map instanceof Map ? Array.from(map, ([name, member]) => [String(name ?? ''), member] as const) : Object.entries(map)

export const isDerived = (initial: unknown): initial is Derived<unknown> =>
  typeof initial === 'object' && initial !== null && 'from' in initial

/** Every setting of a table with its key; `*` stands for the name within a map. */
export const leaves = (node: Node, key = ''): readonly (readonly [string, Setting<unknown>])[] => {
  if (isSetting(node)) return [[key, node]]
  if (isMany(node)) return leaves(node.each, `${key}.*`)
  return Object.entries(node).flatMap(([name, inner]) => leaves(inner, key === '' ? name : `${key}.${name}`))
}

/**
 * Immutable map (hash array mapped trie, HAMT). `set` and `delete` return a new map that shares most nodes with this
 * one. The iteration order is unspecified.
 */
export type PersistentMap<V> = {
  readonly size: number
  readonly get: (key: string) => V | undefined
  readonly has: (key: string) => boolean
  readonly set: (key: string, value: V) => PersistentMap<V>
  readonly delete: (key: string) => PersistentMap<V>
  /** Returns true if all keys pass. Stops at the first key that fails the test. */
  readonly every: (passes: (key: string) => boolean) => boolean
  readonly [Symbol.iterator]: () => Iterator<Entry<V>>
}

/**
 * Each level of branches uses the next 5 bits of the hash. A leaf has at most 8 entries, except at the last level (30
 * bits), where the number of entries is not limited.
 */
const BITS = 5
const HASH_BITS = 30
const LEAF = 8

type Entry<V> = readonly [key: string, value: V]
type Leaf<V> = { readonly entries: readonly Entry<V>[] }
type Branch<V> = { readonly nodes: readonly Node<V>[] }
type Node<V> = Leaf<V> | Branch<V>

/** FNV-1a over UTF-16 code units. */
const hashOf = (key: string): number => {
  let hash = 0x811c9dc5
  for (let n = 0; n < key.length; n++) hash = Math.imul(hash ^ key.charCodeAt(n), 0x01000193)
  return hash
}
const slotOf = (hash: number, shift: number): number => (hash >>> shift) & ((1 << BITS) - 1)

const found = <V>(root: Node<V>, key: string): Entry<V> | undefined => {
  const hash = hashOf(key)
  let node = root
  for (let shift = 0; 'nodes' in node; shift += BITS) node = node.nodes[slotOf(hash, shift)]!
  return node.entries.find(([present]) => present === key)
}

const split = <V>(entries: readonly Entry<V>[], shift: number): Node<V> => {
  if (entries.length <= LEAF || shift >= HASH_BITS) return { entries }
  const parts: Entry<V>[][] = Array.from({ length: 1 << BITS }, () => [])
  for (const entry of entries) parts[slotOf(hashOf(entry[0]), shift)]!.push(entry)
  return { nodes: parts.map((part) => split(part, shift + BITS)) }
}

const replaced = <V>(
  node: Node<V>,
  hash: number,
  by: (entries: readonly Entry<V>[]) => readonly Entry<V>[],
  shift = 0,
): Node<V> => {
  if (!('nodes' in node)) return split(by(node.entries), shift)
  const slot = slotOf(hash, shift)
  return { nodes: node.nodes.with(slot, replaced(node.nodes[slot]!, hash, by, shift + BITS)) }
}

function* entriesOf<V>(node: Node<V>): Generator<Entry<V>> {
  if ('nodes' in node) for (const each of node.nodes) yield* entriesOf(each)
  else yield* node.entries
}

const all = <V>(node: Node<V>, passes: (key: string) => boolean): boolean =>
  'nodes' in node ? node.nodes.every((each) => all(each, passes)) : node.entries.every(([key]) => passes(key))

const over = <V>(root: Node<V>, size: number): PersistentMap<V> => {
  const others = (key: string) => (entries: readonly Entry<V>[]) => entries.filter(([present]) => present !== key)
  return {
    size,
    get: (key) => found(root, key)?.[1],
    has: (key) => found(root, key) !== undefined,
    set: (key, value) =>
      over(
        replaced(root, hashOf(key), (entries) => [...others(key)(entries), [key, value]]),
        size + (found(root, key) ? 0 : 1),
      ),
    delete: (key) => (found(root, key) ? over(replaced(root, hashOf(key), others(key)), size - 1) : over(root, size)),
    every: (passes) => all(root, passes),
    [Symbol.iterator]: () => entriesOf(root),
  }
}

/** Empty map. */
export const emptyMap = <V>(): PersistentMap<V> => over<V>({ entries: [] }, 0)

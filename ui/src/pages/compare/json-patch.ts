import type { Json } from '../../api/differences.ts'
import { same } from '../../parts/editing/editing.ts'

/** Operation of a JSON Patch (RFC 6902). */
export type PatchOp =
  | { readonly op: 'add' | 'replace'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

/** One reference token of a JSON Pointer (RFC 6901). */
const pointer = (name: string | number): string => `/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`

const ofObjects = (from: Json, to: Json, path: string): readonly PatchOp[] => {
  const [before, after] = [Object.keys(from), Object.keys(to)]
  return [
    ...before.filter((name) => !(name in to)).map((name): PatchOp => ({ op: 'remove', path: path + pointer(name) })),
    ...after.flatMap((name): readonly PatchOp[] =>
      name in from
        ? patchOf(from[name], to[name], path + pointer(name))
        : [{ op: 'add', path: path + pointer(name), value: to[name] }],
    ),
  ]
}

const ofLists = (from: readonly unknown[], to: readonly unknown[], path: string): readonly PatchOp[] => {
  const common = Math.min(from.length, to.length)
  const surplus = from.slice(common).map((_, n): PatchOp => ({ op: 'remove', path: path + pointer(common + n) }))
  return [
    ...from.slice(0, common).flatMap((item, n) => patchOf(item, to[n], path + pointer(n))),
    // From the end, because each removal moves the items behind it.
    ...surplus.toReversed(),
    ...to.slice(common).map((value, n): PatchOp => ({ op: 'add', path: path + pointer(common + n), value })),
  ]
}

/** JSON Patch (RFC 6902) that turns one JSON value into another. */
export const patchOf = (from: unknown, to: unknown, path = ''): readonly PatchOp[] => {
  if (same(from, to)) return []
  if (isObject(from) && isObject(to)) return ofObjects(from, to, path)
  if (Array.isArray(from) && Array.isArray(to)) return ofLists(from, to, path)
  return [{ op: 'replace', path, value: to }]
}

import { type DiffItem, type Json, readDifference, readWhole, type StateDiff } from '../../api/differences.ts'
import type { thingOf } from '../../links.ts'
import { type PatchOp, patchOf } from './json-patch.ts'

/** A resource before and after; undefined where it does not exist. */
export type Whole = { readonly from: Json | undefined; readonly to: Json | undefined }

/** Fields that differences leave out (api.md §16.8). */
const IGNORED = new Set(['createdAt', 'updatedAt', 'lastUsedAt'])

/** Copy of a JSON value without the fields that differences leave out. */
const compared = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(compared)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !IGNORED.has(name))
      .map(([name, member]) => [name, compared(member)]),
  )
}

const comparedOf = (value: unknown): Json | undefined => (value === undefined ? undefined : (compared(value) as Json))

type Moments = Pick<StateDiff, 'a' | 'b'>

/** Reads both sides of a stream, unless its difference has them. */
export const readSides = async (
  stream: string,
  item: DiffItem | undefined,
  { a, b }: Moments,
  signal?: AbortSignal,
): Promise<Whole> => {
  const [change] = item?.changes ?? []
  if (item && change && item.kind !== 'changed') return { from: comparedOf(change.from), to: comparedOf(change.to) }
  const from = comparedOf(await readWhole(stream, a.position, signal))
  // Equal sides are read once.
  return { from, to: item ? comparedOf(await readWhole(stream, b.position, signal)) : from }
}

/** Reads both sides of each difference, one after another, because the reads of the past of one user are limited. */
export const readWholes = async (
  { items, ...moments }: Pick<StateDiff, 'items' | 'a' | 'b'>,
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, Whole>> => {
  const found = new Map<string, Whole>()
  for (const item of items) found.set(item.stream, await readSides(item.stream, item, moments, signal))
  return found
}

/** JSON Patch of one resource. A resource that exists on one side only is added, or replaced by null. */
export const patchOfWhole = ({ from, to }: Whole): readonly PatchOp[] =>
  from && to ? patchOf(from, to) : [{ op: from ? 'replace' : 'add', path: '', value: to ?? null }]

/** JSON Patch of an object that has the resources by stream. */
export const patchOfWholes = (wholes: ReadonlyMap<string, Whole>): readonly PatchOp[] => {
  const side = (of: keyof Whole) =>
    Object.fromEntries([...wholes].flatMap(([stream, whole]) => (whole[of] ? [[stream, whole[of]]] : [])))
  return patchOf(side('from'), side('to'))
}

type BySegments = { readonly segmentKey?: string; readonly segmentKeys?: readonly string[] }
type Parts = {
  readonly rules?: readonly BySegments[]
  readonly rollouts?: readonly { readonly segment?: BySegments }[]
}

const keysIn = (whole: Json | undefined): readonly string[] => {
  const { rules = [], rollouts = [] } = (whole ?? {}) as Parts
  return [...rules, ...rollouts.flatMap(({ segment }) => segment ?? [])].flatMap(({ segmentKey, segmentKeys }) => [
    ...(segmentKey === undefined || segmentKey === '' ? [] : [segmentKey]),
    ...(segmentKeys ?? []),
  ])
}

/** Segments of one flag that are compared at most. */
const SEGMENTS = 100

/** Differences of the segments that a flag uses: the keys of all, and the differences of the first ones. */
type SegmentDifferences = {
  readonly keys: readonly string[]
  readonly compared: number
  readonly items: readonly DiffItem[]
}

/** Reads the differences of the segments that a flag uses on either side, one after another. */
export const readSegmentDifferences = async (
  { namespace }: Pick<NonNullable<ReturnType<typeof thingOf>>, 'namespace'>,
  { from, to }: Whole,
  { a, b }: Moments,
  signal?: AbortSignal,
): Promise<SegmentDifferences> => {
  const keys = [...new Set([...keysIn(from), ...keysIn(to)])].sort()
  const compared = keys.slice(0, SEGMENTS)
  const items: DiffItem[] = []
  for (const key of compared) {
    const moments = { a: a.position, b: b.position }
    items.push(...(await readDifference({ stream: `segment-${namespace}+${key}` }, moments, signal)).items)
  }
  return { keys, compared: compared.length, items }
}

import { backgroundSlicer, sliced } from '../base/event-loop.ts'
import type { Stored } from '../events/log.ts'
import { entryOf } from '../verifier/entry.ts'
import { type Hash, hashesOf, isSameHash, leafOf } from '../verifier/hashes.ts'
import { base64Of } from '../verifier/platform.ts'
import { type TamperingKind, tamperingKind } from '../verifier/proof/tampering.ts'
import { TILE_WIDTH } from '../verifier/tiles.ts'
import { compactRange } from '../verifier/tree.ts'
import type { LedgerStore, SealedRecord } from './ledger-store.ts'
import { soundTile, type TileMacs } from './tiles/tile-macs.ts'

/** First event of the log that is not the sealed or kept one. */
export type LogDifference = { readonly index: number; readonly kind: TamperingKind }

/** Tree over a whole log, with its roots at the sizes in demand. */
type TreeOfLog = {
  readonly size: number
  readonly root: Hash
  readonly roots: ReadonlyMap<number, Hash>
  /** Hashes of the leaves after the last full tile. */
  readonly tail: readonly Hash[]
}

type OnLeaf = (leaf: Hash, index: number) => Promise<void> | undefined

/** Makes the tree over the pages of a whole log, without kept hashes. `onLeaf` receives each leaf in order. */
export const treeOfPages = async (
  pages: AsyncIterable<readonly Stored[]>,
  sizes: readonly number[],
  onLeaf: OnLeaf = () => undefined,
): Promise<TreeOfLog> => {
  const [range, wanted, roots] = [compactRange(), new Set(sizes), new Map<number, Hash>()]
  let tail: Hash[] = []
  if (wanted.has(0)) roots.set(0, range.root())
  for await (const part of sliced(pages, backgroundSlicer()))
    for (const record of part) {
      const leaf = leafOf(entryOf(record))
      const work = onLeaf(leaf, range.size)
      if (work) await work
      range.append(leaf)
      if (range.size % TILE_WIDTH === 0) tail = []
      else tail.push(leaf)
      if (wanted.has(range.size)) roots.set(range.size, range.root())
    }
  return { size: range.size, root: range.root(), roots, tail }
}

/** Hashes of the first `size` leaves that are kept apart from the log. A tile that was changed is undefined. */
export type KeptHashes = {
  readonly size: number
  readonly tile: (n: number) => Promise<readonly Hash[] | undefined>
}

/** Number of events that records seal. Without a record it is unknown, so each event counts as sealed. */
export const sealedSize = (records: readonly Pick<SealedRecord, 'size'>[]): number =>
  records.length === 0 ? Number.POSITIVE_INFINITY : Math.max(...records.map(({ size }) => size))

/**
 * Kept hashes: those of the tiles of a store, and those that records have after them. They count only under their MAC.
 * Of stale tiles only those count that are wholly sealed, because the others may be of another log.
 */
export const keptInStore = async (
  store: Pick<LedgerStore, 'tile' | 'lastTile'>,
  macs: TileMacs,
  records: readonly Pick<SealedRecord, 'size' | 'tail'>[],
  isStale: boolean,
): Promise<KeptHashes> => {
  const stored = ((await store.lastTile(0)) ?? -1) * TILE_WIDTH + TILE_WIDTH
  const tiles = isStale ? Math.min(stored, TILE_WIDTH * Math.floor(sealedSize(records) / TILE_WIDTH)) : stored
  const tails = records.filter((record) => macs.tailOf(record).length > 0).toSorted((a, b) => a.size - b.size)
  return {
    size: Math.max(tiles, ...tails.map(({ size }) => size)),
    tile: async (n) => {
      const tile = n * TILE_WIDTH < tiles ? await soundTile(store, macs, 0, n) : undefined
      const hashes = tile ? [...hashesOf(tile.hashes)] : []
      for (const tail of tails)
        if (Math.floor(tail.size / TILE_WIDTH) === n) hashes.splice(0, tail.size % TILE_WIDTH, ...macs.tailOf(tail))
      return hashes.length > 0 ? hashes : undefined
    },
  }
}

/**
 * Comparison of the leaves of a log with the kept hashes. It receives each leaf in order, from the first leaf of a tile
 * on. `difference` returns the first difference of a log with this number of leaves.
 */
export const leafComparison = ({ size: has, tile: tileAt }: KeptHashes) => {
  let kept: readonly Hash[] | undefined
  let bad: { readonly index: number; readonly present: Hash; readonly retained: Hash } | undefined
  let isRetainedPresent = false
  const compare = (leaf: Hash, index: number): undefined => {
    const retained = kept?.[index % TILE_WIDTH]
    if (bad) isRetainedPresent ||= isSameHash(leaf, bad.retained)
    else if (retained && !isSameHash(leaf, retained)) bad = { index, present: leaf, retained }
  }
  const next = async (leaf: Hash, index: number): Promise<void> => {
    kept = index < has ? await tileAt(index / TILE_WIDTH) : undefined
    compare(leaf, index)
  }
  return {
    has,
    /** True if a leaf differs. */
    isDifferent: (): boolean => bad !== undefined,
    onLeaf: (leaf: Hash, index: number): Promise<void> | undefined =>
      index % TILE_WIDTH === 0 && !bad ? next(leaf, index) : compare(leaf, index),
    difference: async (size: number): Promise<LogDifference | undefined> => {
      const lastTile = Math.ceil(has / TILE_WIDTH) - 1
      const truncated = size < has && (await tileAt(lastTile)) !== undefined
      if (!bad) return truncated ? { index: size, kind: 'truncated' } : undefined
      const { index, present } = bad
      let isPresentRetained = false
      for (let n = Math.floor(index / TILE_WIDTH); n <= lastTile && !isPresentRetained; n++)
        isPresentRetained = (await tileAt(n))?.some((hash) => isSameHash(hash, present)) ?? false
      return { index, kind: tamperingKind(isPresentRetained, isRetainedPresent) }
    },
  }
}

/** Compares every event of a log with the kept hashes. Returns the tree and the first difference. */
export const compareWithKept = async (
  pages: AsyncIterable<readonly Stored[]>,
  kept: KeptHashes,
  sizes: readonly number[],
): Promise<TreeOfLog & { readonly difference: LogDifference | undefined }> => {
  const { onLeaf, difference } = leafComparison(kept)
  const tree = await treeOfPages(pages, sizes, onLeaf)
  return { ...tree, difference: await difference(tree.size) }
}

/**
 * Returns the cause for which a log of `size` events does not extend a sealed size and root; undefined if it does.
 * `root`: root of the log at the sealed size.
 */
export const notExtending = (
  size: number,
  root: Hash | undefined,
  sealed: { readonly size: number; readonly root: string },
): string | undefined => {
  if (size < sealed.size) return `the log has ${size} events, but ${sealed.size} are sealed`
  if (root !== undefined && base64Of(root) === sealed.root) return undefined
  return `the first ${sealed.size} events of the log are not the sealed ones`
}

import { hashAt, isSameHash, leafOf } from '../../../src/verifier/hashes.ts'
import type { Tree } from '../../../src/verifier/proof/proofs.ts'
import { entriesIn, tilePath, tileWidth } from '../../../src/verifier/tiles.ts'
import { compactRange } from '../../../src/verifier/tree.ts'

/** Number of tiles that are requested before they are needed. */
const AHEAD = 4
/** Time in ms after which the page handles input and draws. */
const SLICE_MS = 8

/** Lets the page handle input and draw. */
const turn = (): Promise<void> => {
  const { scheduler } = globalThis as { readonly scheduler?: { readonly yield?: () => Promise<void> } }
  if (scheduler?.yield) return scheduler.yield()
  return new Promise((done) => {
    const { port1, port2 } = new MessageChannel()
    const onTurn = () => {
      port1.close()
      done()
    }
    port1.addEventListener('message', onTurn)
    port1.start()
    port2.postMessage(0)
  })
}

type Recompute = {
  /** Signed trees in ascending order of size, each size once; the last is the tree to recompute. */
  readonly signed: readonly Tree[]
  /** Reads a tile or a bundle by its path. */
  readonly read: (path: string) => Promise<Uint8Array>
  readonly onProgress: (done: number) => void
}

/** First difference: its place, and whether an entry differs from its leaf, or the root from a signed one. */
type Difference = { readonly cause: 'event' | 'tree'; readonly index: number }

/**
 * Recomputes the tree from its entries, compares each leaf with the tile and the root with every signed tree. Returns
 * the first difference; undefined if there is none. It works in slices, because a worker needs a trusted type that the
 * policy of the page forbids (docs/decisions/0045).
 */
export const recompute = async ({ signed, read, onProgress }: Recompute): Promise<Difference | undefined> => {
  const { size } = signed.at(-1)!
  const widthOf = (index: number): number => tileWidth(size, { level: 0, index })
  /** Reads the leaves of a tile, and the bundle of the entries that they are made of. */
  const leavesOf = (index: number) =>
    Promise.all(([0, 'entries'] as const).map((level) => read(tilePath({ level, index, width: widthOf(index) }))))
  const ahead: ReturnType<typeof leavesOf>[] = []
  const tree = compactRange()
  let [done, agreed, next, begun] = [0, 0, 0, performance.now()]
  for (let index = 0; widthOf(index) > 0; index++) {
    while (ahead.length < AHEAD && widthOf(index + ahead.length) > 0) {
      const leaves = leavesOf(index + ahead.length)
      // The rejection is reported when the tile is needed.
      leaves.catch(() => undefined)
      ahead.push(leaves)
    }
    const [hashes, bundle] = await ahead.shift()!
    const entries = entriesIn(bundle!)
    for (let n = 0; n < widthOf(index); n++) {
      const entry = entries[n]
      const leaf = entry && leafOf(entry)
      if (!leaf || !isSameHash(leaf, hashAt(hashes!, n))) return { cause: 'event', index: done }
      tree.append(leaf)
      done++
      while (signed[next]?.size === done) {
        if (!isSameHash(tree.root(), signed[next]!.root)) return { cause: 'tree', index: agreed }
        agreed = done
        next++
      }
      if (performance.now() - begun >= SLICE_MS) {
        await turn()
        begun = performance.now()
      }
    }
    onProgress(done)
  }
  return undefined
}

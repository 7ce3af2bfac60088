import type {
  KeptCheckpoint,
  LedgerStore,
  ScrubResult,
  SealedRecord,
  StoredTile,
} from '../../src/ledger/ledger-store.ts'

/** Runs before and after each call, with the name of the call. It may throw. */
type Interrupt = (moment: string) => Promise<void> | void

/** Content of a ledger store in memory. Several stores may share it. */
export const memoryContent = () => ({
  tiles: new Map<string, StoredTile>(),
  kept: new Map<number, KeptCheckpoint>(),
  sealed: undefined as SealedRecord | undefined,
  scrub: undefined as ScrubResult | undefined,
})
type Content = ReturnType<typeof memoryContent>

const operations = (content: Content): Omit<LedgerStore, 'close'> => {
  const { tiles, kept } = content
  const ofLevel = (level: number) =>
    [...tiles.values()].filter((tile) => tile.level === level).toSorted((a, b) => a.n - b.n)
  return {
    putTiles: async (full) => {
      for (const tile of full) tiles.set(`${tile.level}/${tile.n}`, tile)
    },
    tile: async (level, n) => tiles.get(`${level}/${n}`),
    tileRoots: async (level, n) =>
      ofLevel(level)
        .filter((tile) => tile.n >= n)
        .slice(0, 256)
        .map((tile) => {
          const { hashes: _, ...root } = tile
          return root
        }),
    lastTile: async (level) => ofLevel(level).at(-1)?.n,
    dropTiles: async () => tiles.clear(),
    sealed: async () => (content.sealed ? { stored: content.sealed } : {}),
    begin: async (record) => void (content.sealed ??= record),
    advance: async ({ ledger, size, text }, to) => {
      const { sealed } = content
      const isThat = sealed?.ledger === ledger && sealed.size === size && sealed.text === text
      if (isThat) content.sealed = to
      return isThat
    },
    startOver: async (record) => {
      tiles.clear()
      kept.clear()
      content.scrub = undefined
      content.sealed = record
    },
    keep: async (checkpoint) => {
      const before = kept.get(checkpoint.size)
      const text = before?.text.startsWith(checkpoint.text) ? before.text : checkpoint.text
      kept.set(checkpoint.size, { ...checkpoint, text })
    },
    checkpoints: async (below, limit) =>
      [...kept.values()]
        .filter(({ size }) => size < below)
        .toSorted((a, b) => b.size - a.size)
        .slice(0, limit),
    checkpoint: async (size) => kept.get(size),
    dropCheckpoints: async (sizes) => {
      for (const size of sizes) if (!kept.get(size)?.keep) kept.delete(size)
    },
    scrubbed: async () => content.scrub,
    writeScrub: async (result) => void (content.scrub = result),
  }
}

/** A ledger store in memory. `interrupt` runs before and after each call. */
export const memoryLedgerStore = (content = memoryContent(), interrupt: Interrupt = () => undefined): LedgerStore => {
  const calls = Object.entries(operations(content)).map(([name, run]) => [
    name,
    async (...args: readonly unknown[]) => {
      await interrupt(`before ${name}`)
      const value = await (run as (...args: readonly unknown[]) => Promise<unknown>)(...args)
      await interrupt(`after ${name}`)
      return value
    },
  ])
  return { ...(Object.fromEntries(calls) as Omit<LedgerStore, 'close'>), close: async () => undefined }
}

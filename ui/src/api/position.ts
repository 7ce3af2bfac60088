const KEPT_MS = 10_000
let largest: bigint | undefined
let until = 0

/** Takes note of the position that a write has reached. */
export const notePosition = (header: string | null): void => {
  if (header === null || !/^\d{1,20}$/.test(header)) return
  const position = BigInt(header)
  if (largest === undefined || position > largest) largest = position
  until = Date.now() + KEPT_MS
}

/** The position that a read must have seen, so that nobody misses what was just made here; undefined a while after the last write. */
export const positionWanted = (): string | undefined =>
  largest !== undefined && Date.now() < until ? String(largest) : undefined

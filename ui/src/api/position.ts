const KEPT_MS = 10_000
let largest: bigint | undefined
let until = 0

/** Stores the position of a write, if it is the greatest so far. */
export const notePosition = (header: string | null): void => {
  if (header === null || !/^\d{1,20}$/.test(header)) return
  const position = BigInt(header)
  if (largest === undefined || position > largest) largest = position
  until = Date.now() + KEPT_MS
}

/** Minimum position of a read, so that a user sees their own writes; undefined some time after the last write. */
export const positionWanted = (): string | undefined =>
  largest !== undefined && Date.now() < until ? String(largest) : undefined

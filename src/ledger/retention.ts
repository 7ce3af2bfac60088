import type { KeptCheckpoint, LedgerStore } from './ledger-store.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Age in ms up to which all checkpoints are kept, and up to which the last one of each hour is kept. */
const [ALL_MS, HOURLY_MS] = [DAY_MS, 30 * DAY_MS]
const PAGE = 1_000

/**
 * Sizes of the checkpoints that need not be kept, of checkpoints in descending order. Kept are all of the last 24 h, the
 * last of each hour for 30 days, the last of each day for ever, and the first of each key.
 */
export const superseded = (checkpoints: readonly KeptCheckpoint[], now: number): readonly number[] => {
  let period = ''
  return checkpoints.flatMap(({ size, sealedAt, keep }) => {
    const time = Date.parse(sealedAt)
    if (!(time <= now - ALL_MS)) return []
    const length = time > now - HOURLY_MS ? HOUR_MS : DAY_MS
    const own = `${length} ${Math.floor(time / length)}`
    const isLast = own !== period
    period = own
    return isLast || keep ? [] : [size]
  })
}

/** Removes the checkpoints that need not be kept. */
export const removeSuperseded = async (
  store: Pick<LedgerStore, 'checkpoints' | 'dropCheckpoints'>,
  now: number,
): Promise<void> => {
  let last: readonly KeptCheckpoint[] = []
  for (let below = Number.MAX_SAFE_INTEGER; ; ) {
    const page = await store.checkpoints(below, PAGE)
    // The last one of the page before shows whether the period of the first one has begun already.
    const drop = superseded([...last, ...page], now).filter((size) => size < below)
    if (drop.length > 0) await store.dropCheckpoints(drop)
    if (page.length < PAGE) return
    last = page.slice(-1)
    below = last[0]!.size
  }
}

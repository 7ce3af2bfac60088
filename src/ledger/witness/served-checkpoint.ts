import type { Clock } from '../../base/clock.ts'
import type { KeptCheckpoint, LedgerStore } from '../ledger-store.ts'

/** Interval in ms at which signatures that other instances added are read. */
const REFRESH_MS = 5_000

/** True for checkpoints that differ in their signatures only. */
const isSame = (one: KeptCheckpoint, other: KeptCheckpoint | undefined): boolean =>
  one.size === other?.size && one.root === other.root

type ServedOptions = {
  readonly clock: Pick<Clock, 'monotonic'>
  readonly store: Pick<LedgerStore, 'checkpoint'>
  /** True if other instances may add signatures of witnesses. */
  readonly isCosignedElsewhere: boolean
  readonly onCheckpoint: (checkpoint: KeptCheckpoint) => void
}

/** The checkpoint that an instance serves. Signatures of witnesses are added to it. */
export const servedCheckpoint = ({ clock, store, isCosignedElsewhere, onCheckpoint }: ServedOptions) => {
  let served: KeptCheckpoint | undefined
  let refreshed = Number.NEGATIVE_INFINITY
  /** Serves a checkpoint, unless the same one is served with further signatures. */
  const serve = (checkpoint: KeptCheckpoint | undefined): void => {
    if (checkpoint && !served?.text.startsWith(checkpoint.text)) onCheckpoint((served = checkpoint))
  }
  /** Serves a checkpoint with further signatures, if it is the served one. */
  const cosigned = (checkpoint: KeptCheckpoint | undefined): void => {
    if (checkpoint && isSame(checkpoint, served)) serve(checkpoint)
  }
  return {
    served: (): KeptCheckpoint | undefined => served,
    serve,
    cosigned,
    /** Reads the signatures that other instances added, if they are due. */
    refresh: async (): Promise<void> => {
      if (!isCosignedElsewhere || !served || clock.monotonic() - refreshed < REFRESH_MS) return
      refreshed = clock.monotonic()
      cosigned(await store.checkpoint(served.size))
    },
  }
}

import { base64Of } from '../verifier/platform.ts'
import type { LedgerOfLog } from './ledger-of-log.ts'
import type { KeptCheckpoint, LedgerStore, ScrubResult } from './ledger-store.ts'
import type { LogTree } from './log-tree.ts'
import { isSigned } from './signed-records.ts'

/** Number of the first events in which a scrub has found no difference. It is 0 if the first difference is unknown. */
export const soundThrough = (scrub: ScrubResult | undefined): number =>
  scrub?.ok === false ? (scrub.firstBad?.index ?? 0) : Number.POSITIVE_INFINITY

type ProvenOptions = {
  readonly store: Pick<LedgerStore, 'checkpoints' | 'scrubbed'>
  readonly tree: Pick<LogTree, 'size' | 'rootAt'>
}

/**
 * Returns the number of the first events of a log that kept checkpoints prove: the size of the largest signed checkpoint
 * that has the root of the log, up to the first difference that a scrub found. Reads a logarithmic number of checkpoints.
 */
export const provenThrough = async ({ store, tree }: ProvenOptions, of: LedgerOfLog | undefined): Promise<number> => {
  const isOfLog = async (kept: KeptCheckpoint) =>
    isSigned(kept, of) && base64Of(await tree.rootAt(kept.size)) === kept.root
  // A log has the checkpoints up to a size, and none above it.
  let [proven, from, below] = [0, 0, tree.size() + 1]
  for (let middle = tree.size(); middle > from; middle = from + Math.floor((below - from) / 2)) {
    const [kept] = await store.checkpoints(middle + 1, 1)
    if (kept && kept.size > from && !(await isOfLog(kept))) below = kept.size
    else {
      if (kept && kept.size > from) proven = kept.size
      from = middle
    }
  }
  return Math.min(proven, soundThrough(await store.scrubbed()))
}

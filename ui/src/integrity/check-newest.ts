import type { LedgerStatus } from '../api/ledger.ts'
import { remembered } from './remembered.ts'
import { trusted, unlike, type Verdict, verifiedTree } from './verify.ts'

/** Checks that the newest checkpoint is signed by the known key and extends the tree that this browser verified. */
export const checkNewest = async (status: LedgerStatus, signal?: AbortSignal): Promise<Verdict> => {
  const found = await trusted(status, undefined, signal)
  if ('kind' in found) return found
  const { checkpoint, signed } = found
  const verified = verifiedTree(remembered()!)
  const grown = verified && (await unlike(verified, checkpoint, signal))
  return grown ?? { kind: signed === 'signed' ? 'verified' : 'unchecked', size: checkpoint.size }
}

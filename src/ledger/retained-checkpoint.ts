import { insistOnCheckpoint, keysOf } from '../verifier/check/evidence.ts'
import { base64Of } from '../verifier/platform.ts'
import type { LedgerOfLog } from './ledger-of-log.ts'
import type { Seal } from './signed-records.ts'

/** Returns the keys of a ledger that nobody else may have. */
export const safeVkeys = ({ keys }: Pick<LedgerOfLog, 'keys'>): readonly string[] =>
  keys.flatMap(({ vkey, compromised }) => (compromised ? [] : [vkey]))

/** Returns what a retained checkpoint seals, which a safe key must have signed; fails as `insistOnCheckpoint`. */
export const insistOnSeal = (text: string, of: Pick<LedgerOfLog, 'keys'>, name: string): Seal => {
  const { size, root } = insistOnCheckpoint(text, keysOf(safeVkeys(of)), name)
  return { size, root: base64Of(root) }
}

import { fail } from '../base/failure.ts'
import { base64Of } from './base64.ts'
import type { LedgerOfLog } from './ledger-of-log.ts'
import { type CheckpointFault, type VerifiedCheckpoint, verifyCheckpoint } from './note/checkpoint.ts'
import { parseVkey, type VerifierKey } from './note/vkey.ts'
import type { Seal } from './signed-records.ts'

/** Returns the verifier keys of texts; fails for a malformed one. */
export const keysOf = (vkeys: readonly string[]): readonly VerifierKey[] =>
  vkeys.map((text) => parseVkey(text.trim()) ?? fail('usage', `"${text.trim()}" is not a verifier key.`))

/** Causes for which a checkpoint is refused, in words that follow its name. */
const REFUSED: Readonly<Record<CheckpointFault, string>> = {
  'malformed checkpoint': 'is not a checkpoint',
  'other origin': 'is a checkpoint of another ledger',
  'unknown key': 'has no signature of a known key',
  'wrong signature': 'has a wrong signature',
}

/** Returns the verified checkpoint of a text; fails with exit code 3 for any other text. `name` is its source. */
export const insistOnCheckpoint = (text: string, keys: readonly VerifierKey[], name: string): VerifiedCheckpoint => {
  const found = verifyCheckpoint(text, keys)
  return typeof found === 'string' ? fail('check', `${name} ${REFUSED[found]}.`) : found
}

/** Returns the keys of a ledger that nobody else may have. */
export const safeVkeys = ({ keys }: Pick<LedgerOfLog, 'keys'>): readonly string[] =>
  keys.flatMap(({ vkey, compromised }) => (compromised ? [] : [vkey]))

/** Returns what a retained checkpoint seals, which a safe key must have signed; fails as `insistOnCheckpoint`. */
export const insistOnSeal = (text: string, of: Pick<LedgerOfLog, 'keys'>, name: string): Seal => {
  const { size, root } = insistOnCheckpoint(text, keysOf(safeVkeys(of)), name)
  return { size, root: base64Of(root) }
}

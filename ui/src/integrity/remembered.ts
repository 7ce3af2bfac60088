import type { LedgerStatus } from '../api/ledger.ts'
import { knownLedger, rememberLedger } from '../preferences.ts'
import { basePath } from '../return-path.ts'
import { storeOf } from '../store.ts'

/**
 * Causes of a break. `event`: an entry differs from its leaf. `tree`: the root differs from a sealed one. `signature`:
 * the checkpoint has no valid signature of the known key. `shorter`: the checkpoint has fewer events than this browser
 * verified. `history`: the checkpoint does not extend the verified tree.
 */
const CAUSES = ['event', 'tree', 'signature', 'shorter', 'history'] as const

/** Break that this browser found. `index` is the first event that can be affected; absent if the place is unknown. */
export type Break = {
  readonly cause: (typeof CAUSES)[number]
  readonly index?: number | undefined
  readonly at: string
}

/** Record of this browser about a ledger. */
export type Remembered = {
  /** Verifier key that this browser saw first, or that followed it by a checkpoint with both signatures. */
  readonly vkey: string
  /** Tree that this browser recomputed last: number of events, root in base64, and time. Absent: none yet. */
  readonly verified?: { readonly size: number; readonly root: string; readonly at: string } | undefined
  readonly broken?: Break | undefined
  /** Key of the newest checkpoint, if it is neither the known key nor one that followed it. */
  readonly other?: string | undefined
}

const isTexts = (...values: readonly unknown[]): boolean => values.every((value) => typeof value === 'string')
const isSize = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

/** Reads the stored record, without the members that are malformed. */
const stored = (): Remembered | undefined => {
  try {
    const { vkey, verified, broken, other } = JSON.parse(knownLedger(basePath()) ?? '') as Remembered
    if (typeof vkey !== 'string') return undefined
    return {
      vkey,
      verified: verified && isSize(verified.size) && isTexts(verified.root, verified.at) ? verified : undefined,
      broken:
        broken && CAUSES.includes(broken.cause) && isTexts(broken.at)
          ? { ...broken, index: isSize(broken.index) ? broken.index : undefined }
          : undefined,
      other: typeof other === 'string' ? other : undefined,
    }
  } catch {
    // Nothing is stored, or it is not JSON.
    return undefined
  }
}

// If the browser refuses storage, the record lasts as long as the page.
const record = storeOf(stored())
// The browser reports changes by other tabs.
window.addEventListener('storage', () => record.set(stored()))

/** Returns the record of this browser about the ledger; undefined before the first sight of its key. */
export const remembered = record.get
export const useRemembered = record.use

/** Replaces the record of this browser about the ledger. */
export const remember = (value: Remembered): void => {
  rememberLedger(basePath(), JSON.stringify(value))
  record.set(value)
}

/** The key with which a ledger signs now; undefined before its first key. */
export const signingKeyOf = ({ keys }: LedgerStatus): string | undefined =>
  keys.findLast(({ until, compromised }) => until === undefined && !compromised)?.vkey

/** Trusts the key with which a ledger signs now, and forgets all checks with the key before. */
export const trustSigningKey = (status: LedgerStatus): void => {
  const vkey = signingKeyOf(status)
  if (vkey !== undefined) remember({ vkey })
}

/** Returns the record of this browser about the ledger. Remembers the key of a ledger at its first sight. */
export const seen = (status: LedgerStatus): Remembered | undefined => {
  if (!remembered()) trustSigningKey(status)
  return remembered()
}

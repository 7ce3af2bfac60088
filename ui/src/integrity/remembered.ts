import { useSyncExternalStore } from 'react'
import type { LedgerStatus } from '../api/ledger.ts'
import { knownLedger, rememberLedger } from '../preferences.ts'
import { basePath } from '../return-path.ts'

/**
 * Cause of a break. `event`: an entry differs from its leaf. `tree`: the root differs from a sealed one. `signature`:
 * the checkpoint has no valid signature of the known key. `shorter`: the checkpoint has fewer events than this browser
 * verified. `history`: the checkpoint does not extend the verified tree.
 */
type Cause = 'event' | 'tree' | 'signature' | 'shorter' | 'history'
const CAUSES: readonly Cause[] = ['event', 'tree', 'signature', 'shorter', 'history']

/** Break that this browser found. `index` is the first event that can be affected; absent if the place is unknown. */
export type Break = { readonly cause: Cause; readonly index?: number; readonly at: string }

/** Record of this browser about a ledger. */
export type Remembered = {
  /** Verifier key that this browser saw first, or that followed it by a checkpoint with both signatures. */
  readonly vkey: string
  /** Tree that this browser recomputed last: number of events, root in base64, and time. Absent: none yet. */
  readonly verified?: { readonly size: number; readonly root: string; readonly at: string }
  readonly broken?: Break
  /** Key of the newest checkpoint, if it is neither the known key nor one that followed it. */
  readonly other?: string
}

const isTexts = (...values: readonly unknown[]): boolean => values.every((value) => typeof value === 'string')
const isSize = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

/** The break without an index that is none. */
const placed = ({ cause, index, at }: Break): Break => ({ cause, at, ...(isSize(index) && { index }) })

const parsed = (text: string | undefined): Remembered | undefined => {
  if (text === undefined) return undefined
  let raw: Partial<Remembered>
  try {
    raw = JSON.parse(text) as Partial<Remembered>
  } catch {
    return undefined
  }
  const { vkey, verified, broken, other } = raw ?? {}
  if (typeof vkey !== 'string') return undefined
  return {
    vkey,
    ...(verified && isSize(verified.size) && isTexts(verified.root, verified.at) && { verified }),
    ...(broken && CAUSES.includes(broken.cause) && isTexts(broken.at) && { broken: placed(broken) }),
    ...(typeof other === 'string' && { other }),
  }
}

const listeners = new Set<() => void>()
let present: { readonly text: string | undefined; readonly value: Remembered | undefined } | undefined

/** Returns the record of this browser about the ledger; undefined before the first sight of its key. */
export const remembered = (): Remembered | undefined => {
  const text = knownLedger(basePath())
  if (!present || present.text !== text) present = { text, value: parsed(text) }
  return present.value
}

/** Replaces the record of this browser about the ledger. */
export const remember = (value: Remembered): void => {
  const text = JSON.stringify(value)
  rememberLedger(basePath(), text)
  // If the browser refuses storage, the value lasts as long as the page.
  present = { text: knownLedger(basePath()), value }
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  // The browser reports changes by other tabs.
  window.addEventListener('storage', listener)
  return () => {
    listeners.delete(listener)
    window.removeEventListener('storage', listener)
  }
}
export const useRemembered = (): Remembered | undefined => useSyncExternalStore(subscribe, remembered)

/** The key with which a ledger signs now; undefined before its first key. */
export const signingKeyOf = ({ keys }: LedgerStatus): string | undefined =>
  keys.findLast(({ until, compromised }) => until === undefined && !compromised)?.vkey

/** Returns the record of this browser about the ledger. Remembers the key of a ledger at its first sight. */
export const seen = (status: LedgerStatus): Remembered | undefined => {
  const vkey = signingKeyOf(status)
  if (!remembered() && vkey !== undefined) remember({ vkey })
  return remembered()
}

/** Trusts the key with which a ledger signs now, and forgets all checks with the key before. */
export const trustSigningKey = (status: LedgerStatus): void => {
  const vkey = signingKeyOf(status)
  if (vkey !== undefined) remember({ vkey })
}

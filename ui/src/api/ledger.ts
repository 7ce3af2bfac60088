import type { LedgerCheckpoints, LedgerConsistency, LedgerStatus } from '../../../src/contract/history/ledger.ts'
import { query, read } from './request.ts'

export type { LedgerStatus }

const LEDGER = 'audit/v1/ledger'
/** Address of the newest checkpoint, below the base path. */
export const CHECKPOINT = `${LEDGER}/checkpoint`

/** Reads the state of the ledger. */
export const readLedger = (signal?: AbortSignal): Promise<LedgerStatus> => read(LEDGER, { signal })

/** Reads the text of the newest checkpoint. */
export const readCheckpoint = (signal?: AbortSignal): Promise<string> => read(CHECKPOINT, { signal, form: 'text' })

/** Reads at most 1,000 kept checkpoints, the newest first. */
export const readCheckpoints = (signal?: AbortSignal, pageToken = ''): Promise<LedgerCheckpoints> =>
  read(`${LEDGER}/checkpoints${query({ limit: 1000, pageToken })}`, { signal })

/** Reads the proof that the tree of `to` leaves extends the tree of `from` leaves. */
export const readConsistency = (from: number, to: number, signal?: AbortSignal): Promise<LedgerConsistency> =>
  read(`${LEDGER}/consistency${query({ from, to })}`, { signal })

/** Reads a tile or a bundle of entries by its path below the prefix of the ledger. */
export const readTile = (path: string, signal?: AbortSignal): Promise<Uint8Array> =>
  read(`${LEDGER}/${path}`, { signal, form: 'bytes' })

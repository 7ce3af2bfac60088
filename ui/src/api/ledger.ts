import type { LedgerCheckpoints, LedgerConsistency, LedgerStatus } from '../../../src/contract/history/ledger.ts'
import { query, request } from './request.ts'

export type { LedgerStatus }

const LEDGER = 'audit/v1/ledger'
/** Address of the newest checkpoint, below the base path. */
export const CHECKPOINT = `${LEDGER}/checkpoint`

/** Reads the state of the ledger. */
export const readLedger = async (signal?: AbortSignal): Promise<LedgerStatus> =>
  (await request<LedgerStatus>(LEDGER, { signal })).value

/** Reads the text of the newest checkpoint. */
export const readCheckpoint = async (signal?: AbortSignal): Promise<string> =>
  (await request<string>(CHECKPOINT, { signal, form: 'text' })).value

/** Reads at most 1,000 kept checkpoints, the newest first. */
export const readCheckpoints = async (signal?: AbortSignal, pageToken = ''): Promise<LedgerCheckpoints> =>
  (await request<LedgerCheckpoints>(`${LEDGER}/checkpoints${query({ limit: 1000, pageToken })}`, { signal })).value

/** Reads the proof that the tree of `to` leaves extends the tree of `from` leaves. */
export const readConsistency = async (from: number, to: number, signal?: AbortSignal): Promise<LedgerConsistency> =>
  (await request<LedgerConsistency>(`${LEDGER}/consistency${query({ from, to })}`, { signal })).value

/** Reads a tile or a bundle of entries by its path below the prefix of the ledger. */
export const readTile = async (path: string, signal?: AbortSignal): Promise<Uint8Array> =>
  (await request<Uint8Array>(`${LEDGER}/${path}`, { signal, form: 'bytes' })).value

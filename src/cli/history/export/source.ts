import type { ReadNodes } from '../../../verifier/proof/proofs.ts'
import type { LedgerNow } from '../../ledger/ledger-client.ts'
import type { ExportedEvent } from './file-encoder.ts'

/** Examined indexes: from the first up to but excluding the second. */
export type ExportRange = { readonly from: number; readonly to: number }

/** Filter and bounds of an export as parameters of api.md §16.3 with their texts. */
export type ExportSelection = {
  readonly filter: Readonly<Record<string, string>>
  readonly bounds: Readonly<Partial<Record<'after' | 'before' | 'afterIndex' | 'beforeIndex', string>>>
  readonly personal: 'sealed' | 'open'
}

/** Source of events: a service, or a store. */
export type ExportSource = {
  /** Ledger of the source with its newest checkpoint; fails if it has none. */
  readonly ledger: () => Promise<LedgerNow>
  /** Range of a selection up to the newest event. */
  readonly range: (selection: ExportSelection) => Promise<ExportRange>
  /** Events of a range that pass, in ascending order. Ends when `stop` aborts. */
  readonly events: (
    selection: ExportSelection,
    range: ExportRange,
    stop: AbortSignal,
  ) => AsyncIterable<readonly ExportedEvent[]>
  /** Reads the hashes of the tree of so many leaves. */
  readonly nodes: (size: number) => Promise<ReadNodes>
}

import { csvRow } from '../../../contract/readers/csv.ts'
import { cloudEvent } from '../../../history/cloud-events.ts'
import { cloudEventReader } from '../../../history/export/cloud-event-lines.ts'
import { csvReader } from '../../../history/export/csv-rows.ts'
import { type ExportFormat, ledgerIdIn, type Manifest } from '../../../history/export/manifest.ts'
import { readNdjson, readOpenedNdjson } from '../../../history/export/ndjson-lines.ts'
import type { ReadLines } from '../../../history/export/read-line.ts'
import type { IndexedEvent } from '../../../history/facts.ts'
import { COLUMNS } from '../../../history/forms.ts'

/** An event on its way into a file: its NDJSON line, and the event for other forms. */
export type ExportedEvent = {
  readonly index: number
  readonly line: () => string
  readonly event: () => IndexedEvent
}

/** Form of export files: text at the beginning of each file, text of an event, and the reader of the bytes. */
export type ExportForm = {
  readonly head: string
  readonly text: (event: ExportedEvent) => string
  readonly reader: () => ReadLines
}

/** Returns the form of a format; CloudEvents name the ledger of an origin, and NDJSON can have opened personal data. */
export const formOf = (format: ExportFormat, origin: string, personal: Manifest['personal']): ExportForm => {
  if (format === 'ndjson')
    return {
      head: '',
      text: ({ line }) => line(),
      reader: () => (personal === 'open' ? readOpenedNdjson : readNdjson),
    }
  if (format === 'csv')
    return {
      head: csvRow(COLUMNS.map(([title]) => title)),
      text: ({ event }) => {
        const shown = event()
        return csvRow(COLUMNS.map(([, text]) => text(shown)))
      },
      reader: () => csvReader(csvRow),
    }
  const ledger = ledgerIdIn(origin)
  return {
    head: '',
    text: ({ event }) => `${cloudEvent(event(), ledger)}\n`,
    reader: () => cloudEventReader(ledger),
  }
}

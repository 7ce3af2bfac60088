import { csvRow } from '../../../contract/readers/csv.ts'
import { cloudEvent } from '../../../history/cloud-events.ts'
import { cloudEventReader } from '../../../history/export/cloud-event-lines.ts'
import { csvReader } from '../../../history/export/csv-rows.ts'
import { type ExportFormat, ledgerIdIn, type Manifest } from '../../../history/export/manifest.ts'
import { readNdjson, readOpenedNdjson } from '../../../history/export/ndjson-lines.ts'
import { readOcsf } from '../../../history/export/ocsf-lines.ts'
import type { PlacedLine, ReadLine, ReadLines, ReadLinesOf } from '../../../history/export/read-line.ts'
import type { IndexedEvent } from '../../../history/facts.ts'
import { COLUMNS } from '../../../history/forms.ts'
import { ocsfEvent } from '../../../history/ocsf.ts'
import type { OpenedFields } from '../../../history/opened-fields.ts'

/** An event on its way into a file: its NDJSON line, and for other forms the event and its opened personal data. */
export type ExportedEvent = {
  readonly index: number
  readonly line: () => string
  readonly event: () => IndexedEvent
  readonly opened?: () => OpenedFields | undefined
}

/**
 * Form of export files: text at the beginning of each file, text of an event (undefined: left out), and the reader of
 * the bytes.
 */
type Form<L> = {
  readonly head: string
  readonly text: (event: ExportedEvent) => string | undefined
  readonly reader: () => ReadLinesOf<L>
}
export type ExportForm = Form<PlacedLine>

/** Formats whose lines hold the stored texts of the events. */
type ProvenFormat = Exclude<ExportFormat, 'ocsf'>

/** Form of the files of OCSF events of a ledger. */
const ocsfForm = (origin: string): ExportForm => ({
  head: '',
  text: ({ event, opened }) => {
    const json = ocsfEvent(event(), origin, opened?.())
    return json && `${json}\n`
  },
  reader: () => readOcsf,
})

/** Returns the form of a format; CloudEvents name the ledger of an origin, and NDJSON can have opened personal data. */
export const provenFormOf = (format: ProvenFormat, origin: string, personal: Manifest['personal']): Form<ReadLine> => {
  if (format === 'ndjson')
    return {
      head: '',
      text: ({ line }) => line(),
      reader: (): ReadLines => (personal === 'open' ? readOpenedNdjson : readNdjson),
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

/** Returns the form of a format. */
export const formOf = (format: ExportFormat, origin: string, personal: Manifest['personal']): ExportForm =>
  format === 'ocsf' ? ocsfForm(origin) : provenFormOf(format, origin, personal)

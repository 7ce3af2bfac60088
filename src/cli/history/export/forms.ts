import { csvRow } from '../../../contract/readers/csv.ts'
import { cloudEvent } from '../../../history/cloud-events.ts'
import { cloudEventReader } from '../../../history/export/cloud-event-lines.ts'
import { csvReader } from '../../../history/export/csv-rows.ts'
import { type ExportFormat, ledgerIdIn, type Manifest } from '../../../history/export/manifest.ts'
import { readNdjson, readOpenedNdjson } from '../../../history/export/ndjson-lines.ts'
import { readOcsf } from '../../../history/export/ocsf-lines.ts'
import type { PlacedLine, ReadLine, ReadLines, ReadLinesOf } from '../../../history/export/read-line.ts'
import { COLUMNS } from '../../../history/forms.ts'
import { ocsfEvent } from '../../../history/ocsf.ts'
import type { ExportedEvent, FileEncoder } from './file-encoder.ts'
import { type FileLines, linesOfFile, type Measured } from './read-file.ts'

/**
 * Form of export files: bytes before the first event; text of an event, by which files are split (undefined: left out);
 * encoder of a file; reader of a file. `isContinued`: an unfinished file can be continued after its last event.
 */
type Form<L> = {
  readonly headBytes: number
  readonly text: (event: ExportedEvent) => string | undefined
  readonly encoder: () => FileEncoder
  readonly lines: (path: string, gzip: boolean, measured: Measured) => AsyncIterable<FileLines<L>>
  readonly isContinued: boolean
}
export type ExportForm = Form<PlacedLine>

/** Form whose files consist of a head and the texts of the events. */
const textForm = <L>(head: string, text: ExportForm['text'], reader: () => ReadLinesOf<L>): Form<L> => ({
  headBytes: Buffer.byteLength(head),
  text,
  encoder: () => ({ head: () => head, add: (_event, shown) => shown, end: () => '' }),
  lines: (path, gzip, measured) => linesOfFile(path, { gzip, read: reader() }, measured),
  isContinued: true,
})

/** Formats whose lines hold the stored texts of the events. */
type ProvenFormat = Exclude<ExportFormat, 'ocsf'>

/** Form of the files of OCSF events of a ledger. */
const ocsfForm = (origin: string): ExportForm =>
  textForm(
    '',
    ({ event, opened }) => {
      const json = ocsfEvent(event(), origin, opened?.())
      return json && `${json}\n`
    },
    () => readOcsf,
  )

/** Returns the form of Parquet. Its library is loaded only then. */
const parquetForm = async (): Promise<Form<ReadLine>> => {
  const { storedTexts } = await import('../parquet/columns.ts')
  const { parquetEncoder } = await import('../parquet/encode.ts')
  const { parquetLines } = await import('../parquet/read.ts')
  return {
    headBytes: 0,
    text: ({ event }) => storedTexts(event()),
    encoder: parquetEncoder,
    lines: (path, _gzip, measured) => parquetLines(path, measured),
    isContinued: false,
  }
}

/** Returns the form of a format; CloudEvents name the ledger of an origin, and NDJSON can have opened personal data. */
export const provenFormOf = async (
  format: ProvenFormat,
  origin: string,
  personal: Manifest['personal'],
): Promise<Form<ReadLine>> => {
  if (format === 'parquet') return parquetForm()
  if (format === 'ndjson')
    return textForm(
      '',
      ({ line }) => line(),
      (): ReadLines => (personal === 'open' ? readOpenedNdjson : readNdjson),
    )
  if (format === 'csv')
    return textForm(
      csvRow(COLUMNS.map(([title]) => title)),
      ({ event }) => {
        const shown = event()
        return csvRow(COLUMNS.map(([, text]) => text(shown)))
      },
      () => csvReader(csvRow),
    )
  const ledger = ledgerIdIn(origin)
  return textForm(
    '',
    ({ event }) => `${cloudEvent(event(), ledger)}\n`,
    () => cloudEventReader(ledger),
  )
}

/** Returns the form of a format. */
export const formOf = async (
  format: ExportFormat,
  origin: string,
  personal: Manifest['personal'],
): Promise<ExportForm> => (format === 'ocsf' ? ocsfForm(origin) : provenFormOf(format, origin, personal))

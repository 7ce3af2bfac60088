import { ocsfEvent } from '../../../history/ocsf.ts'
import { lineReader } from '../../../verifier/check/lines.ts'
import { cloudEvent } from '../../../verifier/export/cloud-events.ts'
import { CSV_TITLES, csvLine } from '../../../verifier/export/csv.ts'
import { type ExportFormat, ledgerIdIn, type Manifest } from '../../../verifier/export/manifest.ts'
import { type FileLines, linesOfFile, type Measured } from '../../../verifier/export/read-file.ts'
import type { PlacedLine, ReadLinesOf } from '../../../verifier/export/read-line.ts'
import type { ExportedEvent, FileEncoder } from './sources.ts'

/**
 * Format of export files: bytes before the first event; text of an event, by which files are split (undefined: left out);
 * encoder of a file; reader of a file. `isContinued`: an unfinished file can be continued after its last event.
 */
export type FileFormat = {
  readonly headBytes: number
  readonly text: (event: ExportedEvent) => string | undefined
  readonly encoder: () => FileEncoder
  readonly lines: (path: string, gzip: boolean, measured: Measured) => AsyncIterable<FileLines<PlacedLine>>
  readonly isContinued: boolean
}

/** Format whose files consist of a head and the texts of the events. */
const textFormat = (text: FileFormat['text'], reader: () => ReadLinesOf<PlacedLine>, head = ''): FileFormat => ({
  headBytes: Buffer.byteLength(head),
  text,
  encoder: () => ({ head: () => head, add: (_event, shown) => shown, end: () => '' }),
  lines: (path, gzip, measured) => linesOfFile(path, { gzip, read: reader() }, measured),
  isContinued: true,
})

const readOcsfLine = (line: string): PlacedLine | undefined => {
  try {
    const event = JSON.parse(line) as { readonly metadata?: { readonly sequence?: unknown } } | null
    const index = event?.metadata?.sequence
    const isIndex = typeof index === 'number' && Number.isSafeInteger(index) && index >= 0
    return isIndex ? { index, isExact: JSON.stringify(event) === line } : undefined
  } catch {
    return undefined
  }
}

/** Reads the indexes of the lines of an OCSF export, with which an interrupted export continues. */
const readOcsf: ReadLinesOf<PlacedLine> = (bytes) => {
  const used = bytes.lastIndexOf(0x0a) + 1
  return { lines: bytes.toString('utf8', 0, used).split('\n').slice(0, -1).map(readOcsfLine), used }
}

/** Returns the format of Parquet. Its library is loaded only then. */
const parquetFormat = async (): Promise<FileFormat> => {
  const { parquetEncoder, parquetLines, storedTexts } = await import('../parquet.ts')
  return {
    headBytes: 0,
    text: ({ event }) => storedTexts(event()),
    encoder: parquetEncoder,
    lines: (path, _gzip, measured) => parquetLines(path, measured),
    isContinued: false,
  }
}

/** Returns the file format by its name; CloudEvents name the ledger of an origin, and NDJSON can have opened personal data. */
export const fileFormatOf = async (
  format: ExportFormat,
  origin: string,
  personal: Manifest['personal'],
): Promise<FileFormat> => {
  if (format === 'parquet') return parquetFormat()
  if (format === 'ocsf')
    return textFormat(
      ({ event, opened }) => {
        const json = ocsfEvent(event(), origin, opened?.())
        return json && `${json}\n`
      },
      () => readOcsf,
    )
  const reader = () => lineReader(format, { origin, personal })
  if (format === 'ndjson') return textFormat(({ line }) => line(), reader)
  if (format === 'csv') return textFormat(({ event }) => csvLine(event()), reader, CSV_TITLES)
  const ledger = ledgerIdIn(origin)
  return textFormat(({ event }) => `${cloudEvent(event(), ledger)}\n`, reader)
}

import type { OpenedFields } from '../../../history/opened-fields.ts'
import type { IndexedEvent } from '../../../verifier/export/facts.ts'

/** An event on its way into a file: its NDJSON line, and for other forms the event and its opened personal data. */
export type ExportedEvent = {
  readonly index: number
  readonly line: () => string
  readonly event: () => IndexedEvent
  readonly opened?: () => OpenedFields | undefined
}

/** Encodes the events of one file. Each call returns the next bytes of the file, or an empty text. */
export type FileEncoder = {
  readonly head: () => string | Buffer
  readonly add: (event: ExportedEvent, text: string) => string | Buffer
  readonly end: () => string | Buffer
}

import { canonical } from '../base/canonical.ts'
import type { Stored } from '../events/log.ts'
import { cloudEvent } from '../verifier/export/cloud-events.ts'
import { type IndexedEvent, indexedEvent } from '../verifier/export/event-fields.ts'
import { ocsfEvent } from './ocsf.ts'

/** The fields of an event as JSON (api.md §16.2) that hold its record. */
type ShownEvent = Pick<Stored, 'id' | 'stream' | 'type' | 'time'> & {
  readonly index: number
  readonly position: string
  readonly version: number
  readonly revision: number
  readonly data: unknown
  readonly meta: unknown
}

/**
 * The stored text of a value that the API returns. A text that the API returns as a JSON string is stored as that text.
 */
const textOf = (value: unknown): string => (typeof value === 'string' ? value : canonical(value))

/** The record of an event as JSON. Stored texts are canonical JSON, so their values determine them. */
const recordOf = ({ id, stream, time, ...shown }: ShownEvent): Stored => ({
  id,
  stream,
  time,
  type: shown.version === 1 ? shown.type : `${shown.type}.v${shown.version}`,
  revision: BigInt(shown.revision),
  position: BigInt(shown.position),
  data: textOf(shown.data),
  meta: textOf(shown.meta),
})

const eventOf = (shown: ShownEvent): IndexedEvent => indexedEvent(shown.index, recordOf(shown))

/** CloudEvent of an event as JSON, equal to that of its record. */
export const cloudEventOf = (shown: ShownEvent, ledger: string): string => cloudEvent(eventOf(shown), ledger)

/** OCSF event of an event as JSON, equal to that of its record; undefined for an event that OCSF exports leave out. */
export const ocsfEventOf = (shown: ShownEvent, origin: string): string | undefined => ocsfEvent(eventOf(shown), origin)

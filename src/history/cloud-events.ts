import type { IndexedEvent } from './facts.ts'
import { storedText } from './stored-text.ts'

/** Maximum of an integer attribute, and digits of `sequence`. */
const [INTEGER_MAX, DIGITS] = [2_147_483_647, 19]

/**
 * JSON text of an event as a structured CloudEvent 1.0 of this ledger (api.md §16.15). The text depends on the record
 * of the event alone.
 */
export const cloudEvent = ({ index, record, facts }: IndexedEvent, ledger: string): string => {
  const { id, stream, type, time, revision } = record
  const { actor, meta } = facts
  const attributes = {
    specversion: '1.0',
    id,
    source: `urn:rollcall:ledger:${ledger}`,
    type: `rollcall.${type}`,
    subject: stream,
    time,
    datacontenttype: 'application/json',
    dataschema: `urn:rollcall:schema:${type}`,
    sequence: String(index).padStart(DIGITS, '0'),
    position: String(record.position),
    revision: revision > INTEGER_MAX ? undefined : Number(revision),
    partitionkey: stream,
    actorkind: actor.kind,
    actorid: actor.id,
    requestid: meta?.requestId,
    correlationid: meta?.correlationId,
    causationid: meta?.causationId,
    reason: meta?.reason,
    meta: record.meta,
  }
  return `${JSON.stringify(attributes).slice(0, -1)},"data":${storedText(record.data)}}`
}

import { changesOf } from '../events/changes-of.ts'
import { type Recorded, summaryOf } from '../events/summary.ts'
import type { IndexedEvent } from '../verifier/export/event-fields.ts'
import type { SummaryOf } from '../verifier/export/filter.ts'
import { personalMember, storedText } from '../verifier/export/read-line.ts'
import type { OpenedFields } from './opened-fields.ts'

const recordedOf = (...[{ category, data }, { type }]: Parameters<SummaryOf>): Recorded => ({ category, type, data })

/** Returns the summary of an event (api.md §16.2). */
export const summaryOfEvent: SummaryOf = (fields, record) => summaryOf(recordedOf(fields, record))

/** A stored text in an answer of JSON. A text that is no JSON object becomes a JSON string. */
export const validText = (text: string, parsed: object | undefined): string =>
  parsed ? storedText(text) : JSON.stringify(text)

/** Fields of the envelope that events show at the top, in their order. */
const ENVELOPE = ['requestId', 'correlationId', 'causationId', 'traceId', 'route', 'reason', 'instance'] as const

/**
 * JSON text of an event (api.md §16.2). `name`: name of the static token that acted. `sealed`: a checkpoint covers the
 * event. `opened`: its opened personal data, if the request asks for them.
 */
export const eventJson = (
  event: IndexedEvent,
  name: string | undefined,
  sealed: boolean,
  opened?: OpenedFields,
): string => {
  const { index, record, fields } = event
  const { type, version, category, namespace, subject, method, provider, outcome, actor, meta } = fields
  const recorded = recordedOf(fields, record)
  const members = {
    index,
    position: String(record.position),
    time: record.time,
    type,
    version,
    category,
    stream: record.stream,
    revision: Number(record.revision),
    id: record.id,
    namespace,
    subject,
    method,
    provider,
    outcome,
    command: meta?.command,
    actor: { ...actor, name },
    ...Object.fromEntries(ENVELOPE.map((member) => [member, meta?.[member]])),
    summary: summaryOf(recorded),
    changes: changesOf(recorded),
    sealed,
  }
  const [stored, envelope] = [validText(record.data, fields.data), validText(record.meta, fields.meta)]
  return `${JSON.stringify(members).slice(0, -1)},"data":${stored},"meta":${envelope}${personalMember(opened)}}`
}

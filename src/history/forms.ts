import { changesOf } from '../events/changes-of.ts'
import { summaryOf } from '../events/summary.ts'
import { type IndexedEvent, recordedOf } from './facts.ts'
import type { OpenedFields } from './opened-fields.ts'
import { storedText } from './stored-text.ts'

/** Last member of an event with opened personal data; without them, an empty text. */
const personalMember = (opened: OpenedFields | undefined): string =>
  opened ? `,"personal":${JSON.stringify(opened)}` : ''

/** Writes the end of the JSON of an event: its stored data and envelope, and its opened personal data. */
const withTexts = (members: object, data: string, meta: string, personal: string): string =>
  `${JSON.stringify(members).slice(0, -1)},"data":${data},"meta":${meta}${personal}}`

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
  const { index, record, facts } = event
  const { type, version, category, namespace, subject, method, provider, outcome, actor, meta } = facts
  const recorded = recordedOf(facts, record)
  return withTexts(
    {
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
    },
    validText(record.data, facts.data),
    validText(record.meta, facts.meta),
    personalMember(opened),
  )
}

/** Line of an event in NDJSON. Without opened personal data it depends on the record and its index alone. */
export const eventLine = ({ index, record }: Omit<IndexedEvent, 'facts'>, opened?: OpenedFields): string => {
  const { id, stream, revision, type, time, position, data, meta } = record
  const [streamText, typeText] = [JSON.stringify(stream), JSON.stringify(type)]
  return `{"index":${index},"position":"${position}","id":${JSON.stringify(id)},"stream":${streamText},"revision":${revision},"type":${typeText},"time":${JSON.stringify(time)},"data":${storedText(data)},"meta":${storedText(meta)}${personalMember(opened)}}\n`
}

/** Columns of the table of events, in their order. */
export const COLUMNS: readonly (readonly [title: string, text: (event: IndexedEvent) => string])[] = [
  ['index', ({ index }) => String(index)],
  ['position', ({ record }) => String(record.position)],
  ['time', ({ record }) => record.time],
  ['type', ({ facts }) => facts.type],
  ['version', ({ facts }) => String(facts.version)],
  ['category', ({ facts }) => facts.category],
  ['stream', ({ record }) => record.stream],
  ['revision', ({ record }) => String(record.revision)],
  ['id', ({ record }) => record.id],
  ['namespace', ({ facts }) => facts.namespace ?? ''],
  ['subject', ({ facts }) => facts.subject ?? ''],
  ['method', ({ facts }) => facts.method ?? ''],
  ['provider', ({ facts }) => facts.provider ?? ''],
  ['outcome', ({ facts }) => facts.outcome],
  ['command', ({ facts }) => facts.meta?.command ?? ''],
  ['actor_kind', ({ facts }) => facts.actor.kind],
  ['actor_id', ({ facts }) => facts.actor.id ?? ''],
  ['actor_method', ({ facts }) => facts.actor.method ?? ''],
  ['request_id', ({ facts }) => facts.meta?.requestId ?? ''],
  ['correlation_id', ({ facts }) => facts.meta?.correlationId ?? ''],
  ['causation_id', ({ facts }) => facts.meta?.causationId ?? ''],
  ['route', ({ facts }) => facts.meta?.route ?? ''],
  ['reason', ({ facts }) => facts.meta?.reason ?? ''],
  ['instance', ({ facts }) => facts.meta?.instance ?? ''],
  ['data', ({ record }) => record.data],
  ['meta', ({ record }) => record.meta],
]

/** Places of the columns by their titles. */
export const COLUMN_PLACES: ReadonlyMap<string, number> = new Map(COLUMNS.map(([title], n) => [title, n]))

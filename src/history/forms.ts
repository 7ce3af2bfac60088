import { changesOf } from '../events/changes-of.ts'
import { summaryOf } from '../events/summary.ts'
import { type IndexedEvent, recordedOf } from './facts.ts'
import { storedText } from './stored-text.ts'

/** Writes the end of the JSON of an event: its stored data and envelope. */
const withTexts = (members: object, { record, facts }: IndexedEvent): string => {
  const [data, meta] = [storedText(record.data, facts.data), storedText(record.meta, facts.meta)]
  return `${JSON.stringify(members).slice(0, -1)},"data":${data},"meta":${meta}}`
}

/** Fields of the envelope that events show at the top, in their order. */
const ENVELOPE = ['requestId', 'correlationId', 'causationId', 'route', 'reason', 'instance'] as const

/** JSON text of an event (api.md §16.2). `name`: name of the static token that acted. */
export const eventJson = (event: IndexedEvent, name: string | undefined): string => {
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
      sealed: false,
    },
    event,
  )
}

/** Line of an event in NDJSON. The line depends on the record and its index alone. */
export const eventLine = (event: IndexedEvent): string => {
  const { index, record } = event
  const { id, stream, type, time } = record
  const place = { index, position: String(record.position), id, stream, revision: Number(record.revision), type, time }
  return `${withTexts(place, event)}\n`
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

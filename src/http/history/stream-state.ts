import type { AsOf } from '../../as-of/as-of.ts'
import { invalid, refuse } from '../../base/errors.ts'
import type { StreamState } from '../../contract/history/state.ts'
import type { Compiled } from '../../evaluation/compile.ts'
import { typeName } from '../../events/define.ts'
import type { LogPosition } from '../../history/ranges.ts'
import { type FlagDoc, flags } from '../../projections/flags.ts'
import { readable } from '../../projections/projection.ts'
import { namespaces, segments } from '../../projections/resource-model.ts'
import { tokens } from '../../projections/tokens.ts'
import type { Row } from '../../projections/views.ts'
import { presentAuthentication } from '../present/authentication.ts'
import { flagJson, rolloutJson, ruleJson } from '../present/flag.ts'
import { namespaceJson } from '../present/namespace.ts'
import { segmentJson } from '../present/segment.ts'
import type { HistoryService } from '../services/history.ts'

export type Past = AsOf<Compiled>

/** Parts of a stream's name: category and id. */
type StreamName = { readonly category: string; readonly id: string }

/** Document of a stream at a moment; undefined if the document did not exist at that moment. */
type Resource = { readonly body: object; readonly changes: bigint }

type StreamReader = {
  /** Row after the last event of the stream; undefined for an unwritten stream. */
  readonly row: (past: Past, id: string) => Promise<Row | undefined>
  /** The resource as its own GET shows it. */
  readonly resource: (service: HistoryService, past: Past, id: string) => Promise<Resource | undefined>
}

/** Namespace and key in the id of the stream of a flag or segment. */
const keysIn = (id: string): readonly [namespace: string, key: string] => {
  const plus = id.indexOf('+')
  return plus < 0 ? [id, ''] : [id.slice(0, plus), id.slice(plus + 1)]
}

/** Readers by category. */
const READERS: Readonly<Record<string, StreamReader>> = {
  namespace: {
    row: async (past, id) => (await past.rows(namespaces, [id]))[0],
    resource: async (_, past, id) => {
      const row = await past.namespace(id)
      return row && { body: namespaceJson(row.doc), changes: row.changes }
    },
  },
  flag: {
    row: async (past, id) => (await past.rows(flags, [id]))[0],
    resource: async (_, past, id) => {
      const row = await past.flag(...keysIn(id))
      return row && { body: flagJson(row.doc), changes: row.changes }
    },
  },
  segment: {
    row: async (past, id) => (await past.rows(segments, [id]))[0],
    resource: async (_, past, id) => {
      const row = await past.segment(...keysIn(id))
      return row && { body: segmentJson(row.doc), changes: row.changes }
    },
  },
  token: {
    row: async (past, id) => (await past.rows(tokens, [id]))[0],
    resource: async ({ names, sealer }, past, id) => {
      const row = await past.token(id)
      if (!row) return undefined
      const time = new Date(await past.clock())
      return { body: await presentAuthentication(row.doc, names, sealer, time), changes: row.changes }
    },
  },
}

const readerOf = (category: string): StreamReader =>
  (Object.hasOwn(READERS, category) ? READERS[category] : undefined) ??
  invalid('category', `unknown value "${category}"`)

/** A flag with its rules and rollouts, as differences compare it. */
export const wholeFlag = (doc: FlagDoc): object => ({
  ...flagJson(doc),
  rules: doc.rules.map((rule) => ruleJson(doc, rule)),
  rollouts: doc.rollouts.map((rollout) => rolloutJson(doc, rollout)),
})

/** Index, position and time of a moment. Before the first event: index -1, without a time. */
export const logPlaceShown = ({ index, position, time }: LogPosition) => ({
  index,
  position: String(position),
  ...(time !== '' && { time }),
})

/** Index, position and time of the last event at a moment. */
export const placeOfMoment = async ({ history }: HistoryService, past: Past): Promise<LogPosition> => {
  const [{ position }, head] = [await past.moment(), await history.head()]
  return history.positionAt(position, head)
}

/** Resource of a stream at a moment for a difference; undefined if it does not exist. Unknown streams: 404. */
export const resourceAt = async (service: HistoryService, past: Past, { category, id }: StreamName) => {
  const reader = readerOf(category)
  const row = readable(await reader.row(past, id))
  if (!row) return { written: false, body: undefined }
  if (category === 'flag') {
    const flag = await past.flag(...keysIn(id))
    return { written: true, body: flag && wholeFlag(flag.doc) }
  }
  return { written: true, body: (await reader.resource(service, past, id))?.body }
}

/** The event at a position as an answer shows it. */
const eventShown = async ({ log, history }: HistoryService, position: bigint, place: LogPosition) => {
  const [event, { index }] = [await log.at(position), await history.positionAt(position, place)]
  if (!event) return refuse('backend_unavailable')
  return { index, position: String(position), time: event.time, type: typeName(event.type) }
}

/** Position of the deletion of the namespace, up to a place, that ended this flag or segment; undefined if none did. */
const endedWith = async ({ log }: HistoryService, { key, doc }: Row, place: LogPosition) => {
  const { incarnation } = (doc ?? {}) as { readonly incarnation?: string }
  if (incarnation === undefined) return undefined
  for await (const page of log.read(`namespace-${keysIn(key)[0]}`))
    for (const { type, data, position } of page)
      if (position <= place.position && typeName(type) === 'NamespaceDeleted')
        if ((JSON.parse(data) as { readonly incarnation: string }).incarnation === incarnation) return position
  return undefined
}

/** State of a stream at a moment, with its last event (api.md §16.7). */
export const streamState = async (
  service: HistoryService,
  past: Past,
  { category, id }: StreamName,
): Promise<StreamState> => {
  const reader = readerOf(category)
  const stream = `${category}-${id}`
  const row = readable(await reader.row(past, id)) ?? refuse('not_found', `stream "${stream}" not found`)
  const place = await placeOfMoment(service, past)
  const lastEvent = await eventShown(service, row.position, place)
  const resource = await reader.resource(service, past, id)
  const ended = resource ? undefined : await endedWith(service, row, place)
  return {
    stream,
    at: logPlaceShown(place),
    exists: resource !== undefined,
    ...(resource && { revision: String(resource.changes) }),
    lastEvent,
    ...(ended !== undefined && { endedBy: await eventShown(service, ended, place) }),
    ...(resource && { state: resource.body as Readonly<Record<string, unknown>> }),
  }
}

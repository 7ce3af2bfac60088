import { Type } from 'typebox'
import { invalid } from '../../base/errors.ts'
import { AnyObject, Instant, named, type Shown, Text } from '../answer.ts'
import { integer, text } from '../readers/fields.ts'
import { query } from '../readers/input.ts'
import { atMoment } from '../readers/moment.ts'
import { EventChange } from './events.ts'

const LogPlaceShown = named('LogPlace', { index: Type.Integer(), position: Text, time: Type.Optional(Instant) })

const LastEvent = named('LastEvent', { index: Type.Integer(), position: Text, time: Instant, type: Text })

/**
 * State of one stream at a moment (api.md §16.7). `endedBy`: the deletion of the namespace that ended a flag or segment,
 * whose own stream has no such event.
 */
export const StreamState = named('StreamState', {
  stream: Text,
  at: LogPlaceShown,
  exists: Type.Boolean(),
  revision: Type.Optional(Text),
  lastEvent: LastEvent,
  endedBy: Type.Optional(LastEvent),
  state: Type.Optional(AnyObject),
})
export type StreamState = Shown<typeof StreamState>
export const stateQuery = query({ at: atMoment })

const DiffItem = named('DiffItem', {
  stream: Text,
  kind: Type.Enum(['added', 'removed', 'changed']),
  changes: Type.Array(EventChange),
})
export type DiffItem = Shown<typeof DiffItem>

/** Difference between two moments (api.md §16.8). */
export const StateDiff = named('StateDiff', {
  a: LogPlaceShown,
  b: LogPlaceShown,
  equal: Type.Boolean(),
  items: Type.Array(DiffItem),
  nextPageToken: Text,
})
export type StateDiff = Shown<typeof StateDiff>

const fields = query({
  stream: text({ stored: false }),
  namespaceKey: text({ stored: false }),
  a: atMoment,
  b: atMoment,
  pageToken: text({ stored: false }),
  limit: integer({ min: 0, minMessage: 'must not be negative' }),
})

/** Query of a difference: of one stream, or of a namespace with its flags and segments. */
export const diffQuery = {
  schema: fields.schema,
  read: (given: Parameters<typeof fields.read>[0]) => {
    const { a, ...asked } = fields.read(given)
    if (asked.stream === '' && asked.namespaceKey === '') invalid('stream', 'must not be empty')
    if (asked.stream !== '' && asked.namespaceKey !== '')
      invalid('namespaceKey', 'only one of stream and namespaceKey can be present')
    return { ...asked, a: a ?? invalid('a', 'must not be empty') }
  },
}

/** First line of the rows of a read model (api.md §16.19). `position`: every event up to it is in the rows. */
export const ReadModel = named('ReadModel', { name: Text, version: Type.Integer(), position: Text })
export type ReadModel = Shown<typeof ReadModel>

/** A row of a read model (api.md §16.19). `position`: that of the last applied event. */
export type ReadModelRow = { readonly key: string; readonly position: string; readonly sha256: string }

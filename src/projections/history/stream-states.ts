import { LRUCache } from 'lru-cache'
import { sliced } from '../../base/event-loop.ts'
import type { EventLog, Stored } from '../../events/log.ts'
import { unreadableOf } from '../../events/unreadable.ts'
import { resources } from '../all.ts'
import { type AnyProjection, project } from '../projection.ts'
import type { Row, View } from '../views.ts'
import { type LogProjection, logMarks, type Sealed, type Sources, seals } from './log-marks.ts'

/** Intervals of revisions at which a state is stored; the second is that of large documents. */
export const STATE_EVERY = 32
const MOST_FOLDED = 256
/**
 * Size above which a document is large, in characters; and above which no state is stored, in bytes, because a store
 * may reject it.
 */
const LARGE = 8_192
const LARGEST = 12 * 1_048_576

/**
 * A document after an event of its stream, as JSON; `text` is absent if there was none. `before` is the negated
 * position of the event, so that the last state up to a position comes first in ascending order.
 */
export type State = {
  readonly stream: string
  readonly before: number
  readonly revision: string
  readonly changes: string
  /** Id of the event. */
  readonly event: string
  readonly text?: string
}

/** States of streams, from which reads of past states start. */
export const stateView: View = {
  name: 'stream_states',
  version: 4,
  fields: ['stream', 'before'],
  indexes: [{ by: ['stream', 'before'] }],
}

export const stateSeals = (key: Uint8Array) =>
  seals<State>(key, 'state', ({ stream, before, revision, changes, event, text }) =>
    JSON.stringify([stream, before, revision, changes, event, text ?? null]),
  )

const keyOf = (stream: string, revision: bigint) => `${stream}@${String(revision).padStart(16, '0')}`
const modelOf = (stream: string) => resources.find(({ category }) => stream.startsWith(`${category}-`))

/** Converts a state to its row. */
export const rowOf = ({ category }: AnyProjection, { stream, before, revision, changes, text }: State): Row => ({
  key: stream.slice(category.length + 1),
  revision: BigInt(revision),
  position: BigInt(-before),
  changes: BigInt(changes),
  doc: text === undefined ? undefined : (JSON.parse(text) as object),
})

/** True if a state was computed from later events than this one. */
const isOf = (state: State, { id, revision, position }: Stored): boolean =>
  id === state.event && String(revision) === state.revision && Number(position) === -state.before

/** Maximum number of streams whose size is remembered. */
const KNOWN = 1_000

const isLarge = ({ text = '' }: State): boolean => text.length > LARGE
const isDue = ({ revision }: Stored, large = false): boolean =>
  (revision + 1n) % BigInt(large ? MOST_FOLDED : STATE_EVERY) === 0n

const stateOf = (row: Row, { stream, id, position, revision }: Stored): State | undefined => {
  const text = row.doc && JSON.stringify(row.doc)
  if (row.unreadable || Buffer.byteLength(text ?? '') > LARGEST) return undefined
  const state = { stream, before: -Number(position), revision: String(revision), changes: String(row.changes) }
  return { ...state, event: id, ...(text !== undefined && { text }) }
}

/**
 * Computes the state of a stream from a stored state up to its last event that is `within`; no such event is beyond
 * `upTo`. Returns `stale` if the event of the state is not the one in the stream.
 */
export const foldFrom = async (
  log: Pick<EventLog, 'read'>,
  model: AnyProjection,
  stream: string,
  state: State | undefined,
  within: (event: Stored) => boolean,
  upTo?: bigint,
): Promise<Row | undefined | 'stale'> => {
  let row = state && rowOf(model, state)
  let [next, most, isFirst] = [row?.revision ?? 0n, STATE_EVERY + 1, true]
  for (let more = true; more; most = MOST_FOLDED) {
    let count = 0
    for await (const part of sliced(log.read(stream, next, most, upTo)))
      for (const event of part) {
        if (state && isFirst) {
          if (!isOf(state, event)) return 'stale'
        } else if (!within(event)) return row
        else row = project(model, row, event)
        // If `ends` is absent, an unreadable document stays unreadable.
        if (row?.unreadable && !model.ends) return row
        isFirst = false
        count++
        next = event.revision + 1n
      }
    more = count >= most
  }
  return state && isFirst ? 'stale' : row
}

/**
 * Log projection that creates the states. An unreadable state is not stored, because a later version may be able to
 * read it.
 */
const streamStates = (key: Uint8Array): LogProjection => {
  const { seal, holds } = stateSeals(key)
  /** Streams whose document was large at their last state, so that unused states are not computed. */
  const large = new LRUCache<string, boolean>({ max: KNOWN })

  /** The last stored state before a revision, within `MOST_FOLDED` revisions. */
  const before = async (find: Sources['find'], stream: string, revision: bigint): Promise<State | undefined> => {
    const keys: string[] = []
    for (let back = BigInt(STATE_EVERY); back <= MOST_FOLDED && revision >= back; back += BigInt(STATE_EVERY))
      keys.push(keyOf(stream, revision - back))
    const rows = keys.length === 0 ? [] : await find<Sealed<State>>(keys)
    const sound = rows.filter(({ doc }) => doc && holds(doc))
    return sound.sort((one, other) => (one.key < other.key ? 1 : -1))[0]?.doc
  }
  /**
   * True if the whole stream may be read because no recent state is stored: always for short streams, at powers of two
   * for long ones.
   */
  const isWorth = (revision: bigint) => revision < MOST_FOLDED || (revision & (revision + 1n)) === 0n

  const made = async ({ log, find }: Sources, event: Stored, model: AnyProjection, last: State | undefined) => {
    const { stream, revision } = event
    const state = last ?? (await before(find, stream, revision))
    if (!state && !isWorth(revision)) return undefined
    const upTo = (other: Stored) => other.revision <= revision
    const row = await foldFrom(log, model, stream, state, upTo).catch((error: unknown) => {
      if (unreadableOf(error)) return undefined
      throw error
    })
    return row === 'stale' || row?.revision !== revision ? undefined : stateOf(row, event)
  }

  return {
    ...stateView,
    rowsOf: async (sources, _, page) => {
      const last = new Map<string, State>()
      const rows: Row[] = []
      for await (const part of sliced([page]))
        for (const event of part) {
          const { stream, revision, position } = event
          const model = isDue(event, large.get(stream)) ? modelOf(stream) : undefined
          const state = model && (await made(sources, event, model, last.get(stream)))
          if (!state) continue
          last.set(stream, state)
          large.set(stream, isLarge(state))
          if (isDue(event, isLarge(state)))
            rows.push({ key: keyOf(stream, revision), revision: 0n, position, changes: 0n, doc: seal(state) })
        }
      return rows
    },
  }
}

/** Marks in the log, and stored states of streams, with MACs under a key of the service. */
export const logMarksAndStates = (key: Uint8Array) => [logMarks(key), streamStates(key)]

import type { ReadParts, Stored, StreamStart } from '../events/log.ts'
import type { Sealed } from '../projections/history/log-projection.ts'
import { foldFrom, STATE_EVERY, type State, stateView } from '../projections/history/stream-states.ts'
import type { AnyProjection } from '../projections/projection.ts'
import type { FindLeast, Row } from '../projections/views.ts'
import type { Guarded } from './positions.ts'

/** Batch reads of an embedded store, cheaper than one read per stream. */
export type Together = { readonly least: FindLeast; readonly parts: ReadParts }

/** Read model and stream of a document. */
export type Source = { readonly model: AnyProjection; readonly stream: string }

/** A log with one page of one stream. */
const onePage = (page: readonly Stored[]) => ({
  read: async function* () {
    yield page
  },
})

type Reading = Together & {
  readonly ask: Guarded
  readonly hold: <T>(work: () => Promise<T>) => Promise<T>
  readonly holds: (state: Sealed<State>) => boolean
}

/**
 * Returns the rows of the first of the documents at a position, computed from stored states and events that are read
 * together. A document is read with `alone` if its stored state is outdated or it has too many events. Returns no row
 * if the first document exceeds the size of a batch. The function awaits `step` before it reads each document.
 */
export const rowsTogether =
  ({ least, parts, ask, hold, holds }: Reading) =>
  async (
    position: bigint,
    sources: readonly Source[],
    alone: (n: number) => Promise<Row | undefined>,
    step: () => Promise<void> | undefined,
  ): Promise<readonly (Row | undefined)[]> => {
    const streams = sources.map(({ stream }) => stream)
    const from = { by: 'stream', order: 'before', from: -Number(position) }
    const found = (await ask(() => least<Sealed<State>>(stateView, streams, from))) ?? []
    const states = found.map((state) => (state && holds(state) ? state : undefined))
    const begins = states.map((state, n): StreamStart => [streams[n]!, BigInt(state?.revision ?? 0)])
    const pages = await hold(() => parts(begins, STATE_EVERY + 1, position))
    const rows: (Row | undefined)[] = []
    for (const [n, events] of pages.entries()) {
      await step()
      const { model, stream } = sources[n]!
      const row = events ? await foldFrom(onePage(events), model, stream, states[n], () => true) : 'stale'
      rows.push(row === 'stale' ? await alone(n) : row)
    }
    return rows
  }

import type { Clock } from '../../base/clock.ts'
import type { EventLog } from '../../events/log.ts'
import { SEGMENT } from '../../history/event-index/bitmap.ts'
import { eventIndex } from '../../history/event-index/projection.ts'
import { indexView } from '../../history/event-index/rows.ts'
import { backgroundProjection, wholeBlocks } from '../../projections/engine/background-projection.ts'
import type { runner } from '../../projections/engine/runner.ts'
import type { Stores } from '../stores/stores.ts'

type Follower = Pick<ReturnType<typeof runner>, 'counted'>

type IndexerParts = {
  readonly clock: Clock
  readonly log: EventLog
  readonly stores: Pick<Stores, 'views' | 'pepper' | 'writes'>
  readonly follower: Follower
  readonly onError: (what: string) => (error: unknown) => void
}

/** Builds the index of events in the background, and keeps it up to date. */
export const indexerOf = ({ clock, log, stores: { views, pepper, writes }, follower, onError }: IndexerParts) =>
  backgroundProjection({
    clock,
    log,
    views,
    model: eventIndex(pepper.key),
    events: () => follower.counted().events,
    writes,
    onError: onError('cannot update the index of events'),
  })

/** Number of events in full segments that the index lacks. */
export const indexLag =
  ({ views }: Pick<Stores, 'views'>, { counted }: Follower) =>
  async (): Promise<number> => {
    const whole = wholeBlocks(counted().events, SEGMENT)
    return Math.max(0, whole - ((await views.checkpoint(indexView))?.events ?? 0))
  }

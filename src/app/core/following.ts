import type { Clock } from '../../base/clock.ts'
import type { Tracer } from '../../base/tracing.ts'
import type { EventLog } from '../../events/log.ts'
import { tappedLog } from '../../events/log.ts'
import { SEGMENT } from '../../history/event-index/bitmap.ts'
import { eventIndex } from '../../history/event-index/projection.ts'
import { indexView } from '../../history/event-index/rows.ts'
import { projections } from '../../projections/all.ts'
import { backgroundProjection, wholeBlocks } from '../../projections/engine/background-projection.ts'
import { freshness } from '../../projections/engine/freshness.ts'
import { type LogGuard, logGuard } from '../../projections/engine/log-guard.ts'
import type { Progress } from '../../projections/engine/rebuild.ts'
import { type Remembered, runner } from '../../projections/engine/runner.ts'
import { logMarksAndStates } from '../../projections/history/stream-states.ts'
import { tokens } from '../../projections/tokens.ts'
import type { eventClock } from '../stores/event-clock.ts'
import { memorySnapshot, snapshotKeeper } from '../stores/memory-snapshot.ts'
import type { Stores } from '../stores/stores.ts'
import { type Rebuilt, verify } from '../stores/verify-log-and-views.ts'
import type { Fatal } from '../telemetry/fatal.ts'
import { progressLines } from '../telemetry/limited-lines.ts'
import type { Logger } from '../telemetry/logger.ts'
import { tracedWaits } from '../telemetry/tracing.ts'
import type { followedMembership } from './cluster-member.ts'
import type { memoryOf } from './memory.ts'

const DIVERGED =
  'rollcall ends: the event log is not the one that this instance has read until now; the next start reports the difference'

const secondsOf = (ms: number): number => Math.round(ms / 100) / 10

/**
 * Checks that the log is still the one that this instance has read so far. If it is another log, the view updates stop
 * and the service ends.
 */
const guardOf = (
  { clock, stores: { log, restarts, breaks }, fatal }: Pick<FollowingParts, 'clock' | 'stores' | 'fatal'>,
  follower: () => Pick<ReturnType<typeof runner>, 'followed' | 'abandon'>,
): LogGuard =>
  logGuard({
    clock,
    log,
    followed: () => follower().followed(),
    renewed: () => Object.values(restarts).reduce((sum, count) => sum + count, breaks()),
    onDiverged: ({ position, event }, found) => {
      follower().abandon()
      const actual = found === undefined ? 'no event' : `event ${found}`
      fatal(new Error(`${actual} at ${position}, expected event ${event}`), DIVERGED)
    },
  })

/** Returns the end of the log. If the log ends before the position that this instance has read, the log is checked. */
const headOf =
  (
    log: Pick<EventLog, 'head'>,
    follower: Pick<ReturnType<typeof runner>, 'followed'>,
    guard: Pick<LogGuard, 'doubt'> | undefined,
  ) =>
  async () => {
    const { position } = follower.followed()
    const head = await log.head()
    if (head < position) void guard?.doubt()
    return head
  }

/** Parts that the following of the log needs. */
export type FollowingParts = {
  readonly clock: Clock
  readonly logger: Logger
  readonly fatal: Fatal
  readonly tracer: Tracer | undefined
  readonly stores: Stores
  readonly time: ReturnType<typeof eventClock>
  readonly membership: ReturnType<typeof followedMembership>
  readonly memory: ReturnType<typeof memoryOf>
  readonly onError: (what: string) => (error: unknown) => void
}

const followerOf = (
  { clock, stores, memory, onError, fatal }: FollowingParts,
  log: EventLog,
  guard: LogGuard | undefined,
  restore: () => Promise<Remembered | undefined>,
) =>
  runner({
    ...memory,
    clock,
    log,
    views: stores.views,
    projections,
    chronicles: logMarksAndStates(stores.pepper.key),
    needs: ({ name }) => (name === tokens.name ? memory.index.needs : undefined),
    // Flags come from the log, so that a writer to the view servers cannot change evaluations.
    fromLog: ({ name }) => !stores.alone && name !== tokens.name,
    restore,
    take: ({ name }, event) => name === tokens.name && memory.index.apply(event),
    writes: stores.writes,
    onError: onError('the read models cannot be updated'),
    onLost: (error) => fatal(error, 'rollcall ends, because the read models are lost; the next start rebuilds them'),
    ...(guard && { agrees: guard.agrees, has: guard.has }),
  })

/** Proves that this instance has every event of the log. Each spell without a proof is logged. */
const leaseOf = (
  { clock, logger }: FollowingParts,
  head: () => Promise<bigint>,
  { seen, position }: Pick<ReturnType<typeof runner>, 'seen' | 'position'>,
) =>
  freshness({
    clock,
    head,
    seen,
    onStale: ({ forMs, why, head }) =>
      logger.warn(
        {
          seconds: secondsOf(forMs),
          why,
          ...(head !== undefined && { head: String(head) }),
          memory: String(position()),
        },
        'this instance cannot prove that it has received every revocation of a token, so requests with a credential are refused (503 auth_stale); check that EventStoreDB runs, has a leader and is reachable',
      ),
    onFresh: (afterMs) =>
      logger.info({ seconds: secondsOf(afterMs) }, 'this instance has again received every revocation of a token'),
  })

/** The log, and what follows it: memory, read models, the index of events, the guard and the proof of freshness. */
export const followingOf = (parts: FollowingParts) => {
  const { clock, logger, tracer, stores, time, membership, memory, onError } = parts
  const { views, alone, writes, pepper } = stores
  const { index, flagStore, lives, erasures, closed } = memory
  const guard = alone ? undefined : guardOf(parts, () => follower)
  const log = tappedLog(stores.log, [time.tap, membership.tap, ...(guard ? [guard.tap] : [])])
  const holders = [flagStore, lives, erasures]
  const kept = memorySnapshot({ snapshots: stores.snapshots, secret: pepper.key, log, index, holders, logger })
  const follower: ReturnType<typeof runner> = followerOf(parts, log, guard, kept.restore)
  const lease = alone ? undefined : leaseOf(parts, headOf(log, follower, guard), follower)
  const snapshots = snapshotKeeper({
    clock,
    write: kept.write,
    remembered: follower.remembered,
    // No snapshot is written while a document is unreadable, because a later version may be able to read its stream.
    mayWrite: () => writes() && (lease?.fresh() ?? true) && closed.none(),
    onError: (err) => logger.warn({ err }, 'the memory snapshot cannot be written'),
  })
  const indexer = backgroundProjection({
    clock,
    log,
    views,
    model: eventIndex(pepper.key),
    events: () => follower.counted().events,
    writes,
    onError: onError('cannot update the index of events'),
  })
  let rebuilt: Rebuilt | undefined
  return {
    log,
    guard,
    lease,
    follower: tracer ? tracedWaits(follower, tracer) : follower,
    /** True while this instance is fresh and does not doubt the log. */
    fresh: (): boolean => (lease?.fresh() ?? true) && !guard?.suspicious(),
    /** Number of events in full segments that the index of events lacks. */
    indexLag: async (): Promise<number> => {
      const whole = wholeBlocks(follower.counted().events, SEGMENT)
      return Math.max(0, whole - ((await views.checkpoint(indexView))?.events ?? 0))
    },
    /** Read models that the start has rebuilt. */
    rebuilt: () => rebuilt,
    begin: async (ending?: AbortSignal): Promise<void> => {
      await time.begin(log)
      const tell = progressLines(logger, clock)
      const onProgress = (progress: Progress) => {
        ending?.throwIfAborted()
        tell(progress)
      }
      rebuilt = await verify(clock, stores, logger, onProgress)
      if (rebuilt) await stores.snapshots.remove()
      snapshots.begin(await follower.start(onProgress))
    },
    start: (): void => {
      indexer.start()
      if (lease) stores.writesWhile(() => lease.fresh() && follower.viewsAdvance())
    },
    close: async (): Promise<void> => {
      await guard?.close()
      await indexer.close()
      await follower.close()
      await snapshots.end()
      await lease?.close()
      await stores.close()
    },
  }
}

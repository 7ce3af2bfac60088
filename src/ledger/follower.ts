import { type Clock, withTimeout } from '../base/clock.ts'
import { sharedCalls } from '../base/concurrency.ts'
import type { EventLog } from '../events/log.ts'
import type { KeptCheckpoint, LedgerStore, ScrubResult } from './ledger-store.ts'
import type { LogTree } from './log-tree.ts'
import { type Obstacle, orObstacle } from './obstacle.ts'
import { housekeeping, onRequest, pacing } from './schedule.ts'
import type { Sealed } from './sealing.ts'
import { soundThrough } from './signed-records.ts'

/** Interval in ms at which signatures that other instances added are read. */
const REFRESH_MS = 5_000

type ServedOptions = Pick<FollowerOptions, 'isCosignedElsewhere' | 'onCheckpoint'> & {
  readonly clock: Pick<Clock, 'monotonic'>
  readonly store: Pick<LedgerStore, 'checkpoint'>
}

/** The checkpoint that an instance serves. Signatures of witnesses are added to it. */
export const servedCheckpoint = ({ clock, store, isCosignedElsewhere, onCheckpoint }: ServedOptions) => {
  let served: KeptCheckpoint | undefined
  let refreshed = Number.NEGATIVE_INFINITY
  /** Serves a checkpoint, unless the same one is served with further signatures. */
  const serve = (checkpoint: KeptCheckpoint | undefined): void => {
    if (checkpoint && !served?.text.startsWith(checkpoint.text)) onCheckpoint((served = checkpoint))
  }
  /** Serves a checkpoint with further signatures, if it is the served one. */
  const cosigned = (checkpoint: KeptCheckpoint | undefined): void => {
    if (checkpoint && checkpoint.size === served?.size && checkpoint.root === served.root) serve(checkpoint)
  }
  return {
    served: (): KeptCheckpoint | undefined => served,
    serve,
    cosigned,
    /** Reads the signatures that other instances added, if they are due. */
    refresh: async (): Promise<void> => {
      if (!isCosignedElsewhere || !served || clock.monotonic() - refreshed < REFRESH_MS) return
      refreshed = clock.monotonic()
      cosigned(await store.checkpoint(served.size))
    },
  }
}

/** State of the ledger (api.md §17). */
export type LedgerState = 'ok' | 'building' | 'suspended' | 'diverged'

/** Interval in ms at which the tree follows the log and a due checkpoint is made. */
const LOOK_MS = 500
/** Maximum time in ms of the last checkpoint at a shutdown. */
const FAREWELL_MS = 2_000
/** Maximum attempts in races with other instances. */
const ATTEMPTS = 4

export type FollowerOptions = {
  readonly clock: Clock
  readonly log: Pick<EventLog, 'head'>
  /** Position that this instance has followed. */
  readonly followed: () => bigint
  /** Makes the first sealed record and names the ledger in the log, unless it is named. */
  readonly start: () => Promise<void>
  readonly store: Pick<LedgerStore, 'checkpoints' | 'checkpoint' | 'dropCheckpoints' | 'scrubbed'>
  /** True if other instances may add signatures of witnesses to the served checkpoint. */
  readonly isCosignedElsewhere: boolean
  /** The newest kept checkpoint with a valid signature. */
  readonly newestCheckpoint: () => Promise<KeptCheckpoint | undefined>
  readonly tree: Pick<LogTree, 'begin' | 'advance' | 'size' | 'position'>
  /** Stores the difference that the beginning found. Runs once, before the first attempt to seal. */
  readonly recordFound: () => Promise<unknown>
  /** Creates the attempt to seal, which is undefined if another instance sealed at the same time. */
  readonly sealingWith: (advance: () => Promise<void>) => () => Promise<Sealed | undefined>
  readonly interval: number
  readonly events: number
  readonly onCheckpoint: (checkpoint: KeptCheckpoint) => void
  readonly onObstacle: (obstacle: Obstacle) => void
  readonly onError: (error: unknown) => void
}

/** Seals on demand, one attempt at a time, and keeps the newest checkpoint and the obstacle. */
const sealer = (options: FollowerOptions, advance: () => Promise<void>) => {
  const { clock, tree, sealingWith, onObstacle } = options
  const attempt = sealingWith(advance)
  const pace = pacing(options)
  const shared = sharedCalls<void>()
  const own = servedCheckpoint(options)
  const { served, serve } = own
  let isKnown = false
  let obstacle: Obstacle | undefined
  let proven: number | undefined
  let scrub: ScrubResult | undefined
  const block = (found: Obstacle | undefined): void => {
    obstacle = found
    if (found) onObstacle(found)
  }
  const isSettled = (): boolean => isKnown && (scrub?.ok !== false || obstacle !== undefined)
  const provenSize = (): number => (isKnown ? Math.min(proven ?? served()?.size ?? 0, soundThrough(scrub)) : 0)
  const known = {
    /** The newest checkpoint that this instance knows; undefined before the first. */
    served,
    /** Number of the first events that a checkpoint of the log proves. */
    provenSize,
    /** The served checkpoint if the log was compared with it and extends it; else undefined. */
    extended: (): KeptCheckpoint | undefined => {
      const newest = served()
      return newest && obstacle?.state !== 'diverged' && newest.size <= provenSize() ? newest : undefined
    },
    /** Result of the last scrub, at most a minute old. */
    scrub: () => scrub,
    /** The next attempt to seal is due at once after a difference. */
    noteScrub: (result: ScrubResult | undefined): void => void (scrub = result),
    cosigned: own.cosigned,
  }
  return {
    ...pace,
    ...own,
    known,
    /** The first attempt is due at once, because it finds the state. */
    isDue: (): boolean => pace.isDue(tree.size() - (served()?.size ?? 0), obstacle !== undefined) || !isSettled(),
    /** True if the log was compared with the sealed record since the last difference that a scrub found. */
    isSettled,
    obstacle: () => obstacle,
    /** Sets the obstacle until the next attempt to seal. */
    block,
    seal: (): Promise<void> =>
      shared('seal', async () => {
        const [began, size] = [clock.monotonic(), tree.size()]
        try {
          let sealed: Sealed | undefined
          for (let tries = 0; tries < ATTEMPTS && !sealed; tries++) sealed = await attempt()
          if (!sealed || sealed.isUnsure) return
          isKnown = true
          proven = sealed.proven
          block(sealed.obstacle)
          serve(sealed.checkpoint)
        } finally {
          pace.attempted(began, size <= (served()?.size ?? 0))
        }
      }),
  }
}

/** Lets the tree follow the log, and seals it in time. Requests and appends never wait for it. */
export const ledgerFollower = (options: FollowerOptions) => {
  const { clock, log, followed, start, store, newestCheckpoint, tree, recordFound, onError } = options
  const stop = new AbortController()
  let running: Promise<void> = Promise.resolve()
  let [hasBegun, isBuilding, isRecorded] = [false, true, false]

  const advance = async (): Promise<void> => {
    const head = await log.head()
    await tree.advance(head, stop.signal)
    if (tree.position() >= head) isBuilding = false
  }
  const own = sealer(options, advance)
  const { obstacle, serve, seal, isDue } = own
  const keepHouse = housekeeping(clock, store, own.known.noteScrub)
  const request = onRequest(options, own, advance, stop.signal, () => ({ hasBegun, isBuilding }))
  const continueFromStore = async (): Promise<void> => {
    const failed = await orObstacle(() => start().then(() => undefined))
    if (failed) return own.block(failed)
    serve(await newestCheckpoint())
    await tree.begin()
    hasBegun = true
  }
  const look = async (): Promise<void> => {
    if (!hasBegun) await continueFromStore()
    if (!hasBegun) return
    if (isBuilding || followed() > tree.position()) await advance()
    if (!isBuilding && !isRecorded) {
      await recordFound()
      isRecorded = true
    }
    if (!isBuilding && isDue()) await seal()
    await own.refresh()
    await keepHouse()
  }
  // After the time limit of the end the stores close, so the rest of the work may fail.
  let isLate = false
  const report = (error: unknown): void => {
    if (!isLate) onError(error)
  }
  const run = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await look().catch(report)
      await clock.sleep(LOOK_MS, stop.signal)
    }
  }

  return {
    /** Starts the ledger, and continues from the stored tiles. A failure is reported and repeated later. */
    begin: async (): Promise<void> => {
      await continueFromStore().catch(onError)
      running = run()
    },
    state: (): LedgerState => obstacle()?.state ?? (isBuilding || !own.isSettled() ? 'building' : 'ok'),
    ...own.known,
    /** Compares the tree with the sealed record at once, and seals what is new. */
    recheck: seal,
    sealNow: request,
    /** Brings the tree to this size if the log has it. Returns false otherwise. */
    reaches: async (size: number): Promise<boolean> => {
      if (tree.size() < size) await advance()
      return tree.size() >= size
    },
    close: async (): Promise<void> => {
      const end = async () => {
        if (!isBuilding) await advance().then(seal).catch(report)
        stop.abort()
        await running
      }
      const late = () => {
        isLate = true
        stop.abort()
      }
      await withTimeout(clock, FAREWELL_MS, end(), late)
    },
  }
}

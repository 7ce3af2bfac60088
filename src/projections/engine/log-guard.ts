import type { Clock } from '../../clock.ts'
import { sharedCalls } from '../../concurrency.ts'
import { refuse } from '../../errors.ts'
import type { Appended, EventLog } from '../../events/log.ts'
import type { LogTap } from '../../events/tapped-log.ts'

/** A place in the log: a position, and the id of the event there. */
export type Anchor = { readonly position: bigint; readonly event: string }

type LogGuardOptions = {
  readonly clock: Clock
  readonly log: Pick<EventLog, 'at'>
  /** The last event that was followed. */
  readonly followed: () => Anchor
  /** Grows with each connection and each subscription that is lost or made anew. */
  readonly renewed: () => number
  /** Told once that the log has another event there, or none. */
  readonly onDiverged: (anchor: Anchor, found: string | undefined) => void
}

/** How often it is looked, how long a doubt may last unseen, and how long before it is believed. */
const EVERY_MS = 2_000
const DOUBT_MS = 250
const CONFIRM_MS = 3_000
/** How soon it is seen that a connection or a subscription was lost. */
const TICK_MS = 250
/** The first pause between two looks at what is in doubt, and the longest; each is twice the one before. */
const FIRST_PAUSE_MS = 10
const MOST_PAUSE_MS = 250
const UNSURE = 'the history does not show what was followed: nothing is written to it'

/** Asks until the log has the event there, or has not had it for so long that it is believed. */
const asker =
  ({ clock, log }: Pick<LogGuardOptions, 'clock' | 'log'>, stop: AbortSignal) =>
  async (
    anchor: Anchor,
    onDoubt: () => void,
  ): Promise<{ readonly has: boolean; readonly found?: string | undefined }> => {
    if (anchor.position === 0n) return { has: true }
    for (let [since, wait] = [clock.monotonic(), FIRST_PAUSE_MS]; ; wait = Math.min(2 * wait, MOST_PAUSE_MS)) {
      const found = (await log.at(anchor.position))?.id
      if (found === anchor.event) return { has: true }
      const doubted = clock.monotonic() - since
      if (doubted >= DOUBT_MS) onDoubt()
      if (doubted >= CONFIRM_MS || stop.aborted) return { has: false, found }
      await clock.sleep(wait, stop)
    }
  }

/** Appends only while the log is `sure` to be the one that was followed, and returns the answer only then. */
const guardedAppend =
  (followed: () => Anchor, sure: () => Promise<boolean>, onImpossible: () => void) =>
  async (append: () => Promise<Appended>): Promise<Appended> => {
    const insist = async () => {
      if (!(await sure())) refuse('backend_unavailable', undefined, { cause: new Error(UNSURE) })
    }
    await insist()
    const { position } = followed()
    const appended = await append()
    // A new event lies behind everything that was followed; an append that is repeated is in the log already.
    if (appended.positions.at(-1)! <= position) onImpossible()
    await insist()
    return appended
  }

/**
 * Sees to it that the log is still the one that was followed. A follower delivers before the leader shows, and a leader
 * that was deposed shows an older log for a moment: a doubt that lasts makes the instance suspicious, and only one that
 * outlives both is believed.
 */
export const logGuard = (options: LogGuardOptions) => {
  const { clock, followed, renewed, onDiverged } = options
  const stop = new AbortController()
  const ask = asker(options, stop.signal)
  let suspicious = false
  let diverged = false
  const shared = sharedCalls<unknown>()
  /** Places of appends that cannot be of the log that was followed. */
  let impossible = 0
  const generation = () => renewed() + impossible
  /** The generation in which the log was last seen to agree. */
  let verified = generation()
  /** Who waits no longer once there is a doubt. */
  const waiting = new Set<() => void>()

  const look = async (): Promise<boolean> => {
    const [anchor, seen] = [followed(), generation()]
    const { has, found } = await ask(anchor, () => {
      suspicious = true
      for (const go of waiting) go()
    })
    if (has) [suspicious, verified] = [false, Math.max(verified, seen)]
    else if (!diverged && !stop.signal.aborted) {
      diverged = true
      onDiverged(anchor, found)
    }
    return has
  }
  /** Looks aside. Without an answer nothing is known, and the lease of freshness runs out by itself. */
  const doubt = (): Promise<unknown> => shared('look', () => look().catch(() => undefined))
  const sure = async (): Promise<boolean> => {
    const asked = generation()
    const known = () => verified >= asked && !suspicious && !diverged
    if (known() || suspicious || diverged) return known()
    let leave = () => {}
    const inDoubt = new Promise<void>((go) => waiting.add((leave = go)))
    await Promise.race([doubt(), inDoubt])
    waiting.delete(leave)
    return known()
  }

  const run = async () => {
    let at = clock.monotonic()
    while (!stop.signal.aborted) {
      if (verified < generation() || clock.monotonic() - at >= EVERY_MS) {
        at = clock.monotonic()
        await doubt()
      }
      await clock.sleep(TICK_MS, stop.signal)
    }
  }
  const running = run()

  return {
    /** True where the log has the last event that was followed, as it is now. Rejects where it is out of reach. */
    agrees: look,
    doubt,
    /** Refuses appends while the log is not known to be the one that was followed. */
    tap: { aroundAppend: guardedAppend(followed, sure, () => impossible++) } satisfies LogTap,
    /** True where the log has the event of a place that another wrote down. */
    has: async (anchor: Anchor): Promise<boolean> => (await ask(anchor, () => undefined)).has,
    /** True while the log does not show what was followed. */
    suspicious: (): boolean => suspicious || diverged,
    close: async (): Promise<void> => {
      stop.abort()
      await running
    },
  }
}

export type LogGuard = ReturnType<typeof logGuard>

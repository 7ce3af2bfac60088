import type { Clock } from '../../base/clock.ts'
import { sharedCalls } from '../../base/concurrency.ts'
import { refuse } from '../../base/errors.ts'
import type { Appended, EventLog, LogTap } from '../../events/log.ts'

/** A position in the log, and the id of the event at it. */
export type Anchor = { readonly position: bigint; readonly event: string }

type LogGuardOptions = {
  readonly clock: Clock
  readonly log: Pick<EventLog, 'at'>
  /** The last event that was received from the log. */
  readonly followed: () => Anchor
  /** Number of connections and subscriptions that were lost or renewed so far. */
  readonly renewed: () => number
  /** Called once if the log has another event, or none, at the last known position. */
  readonly onDiverged: (anchor: Anchor, found: string | undefined) => void
}

/**
 * Interval between checks, time after which a missing event raises a suspicion, and time after which the log counts as
 * lost, in ms.
 */
const EVERY_MS = 2_000
const DOUBT_MS = 250
const CONFIRM_MS = 3_000
/** Time in ms until a lost connection or subscription is noticed. */
const TICK_MS = 250
/** First and longest pause between two reads of an event in doubt, in ms; each pause doubles. */
const FIRST_PAUSE_MS = 10
const MOST_PAUSE_MS = 250
const UNSURE = 'the event log does not contain the events that this instance has read, so nothing is written to it'

/** Reads until the log returns the event, or until its absence is final. */
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

/**
 * Appends only while the log is `sure` to be the one that this instance has read so far, and returns the answer only
 * then.
 */
const guardedAppend =
  (followed: () => Anchor, sure: () => Promise<boolean>, onImpossible: () => void) =>
  async (append: () => Promise<Appended>): Promise<Appended> => {
    const insist = async () => {
      if (!(await sure())) refuse('backend_unavailable', undefined, { cause: new Error(UNSURE) })
    }
    await insist()
    const { position } = followed()
    const appended = await append()
    // A new event comes after every event received so far; an append that is repeated is in the log already.
    if (appended.positions.at(-1)! <= position) onImpossible()
    await insist()
    return appended
  }

/**
 * Verifies that the log is still the one that this instance has read so far. A subscription may deliver an event before
 * the leader returns it, and a former leader returns an older log for a moment. Therefore a missing event first makes
 * the instance suspicious, and the log counts as lost only after a wait.
 */
export const logGuard = (options: LogGuardOptions) => {
  const { clock, followed, renewed, onDiverged } = options
  const stop = new AbortController()
  const ask = asker(options, stop.signal)
  let suspicious = false
  let diverged = false
  const shared = sharedCalls<unknown>()
  /** Number of appends at positions that are impossible in the log that this instance has read so far. */
  let impossible = 0
  const generation = () => renewed() + impossible
  /** The number of lost connections at which the log was last verified. */
  let verified = generation()
  /** Callers that wait until a suspicion is raised. */
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
  /** Runs the check in the background. If the log does not answer, the freshness lease expires by itself. */
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
    /**
     * Resolves to true if the log still has the last event that this instance received. Rejects if the log is out of
     * reach.
     */
    agrees: look,
    doubt,
    /** Refuses appends while the log is not known to be the one that this instance has read so far. */
    tap: { aroundAppend: guardedAppend(followed, sure, () => impossible++) } satisfies LogTap,
    /** Resolves to true if the log has the event at a position that another instance recorded. */
    has: async (anchor: Anchor): Promise<boolean> => (await ask(anchor, () => undefined)).has,
    /** True while the log lacks the last event that this instance received. */
    suspicious: (): boolean => suspicious || diverged,
    close: async (): Promise<void> => {
      stop.abort()
      await running
    },
  }
}

export type LogGuard = ReturnType<typeof logGuard>

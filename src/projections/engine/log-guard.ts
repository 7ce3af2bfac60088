import { pause } from '../../concurrency.ts'
import type { EventLog } from '../../events/log.ts'

/** A place in the log: a position, and the id of the event there. */
export type Anchor = { readonly position: bigint; readonly event: string }

export type LogGuardOptions = {
  readonly log: Pick<EventLog, 'at'>
  /** The last event that was followed. */
  readonly followed: () => Anchor
  /** Changes with each connection and each subscription that is made anew. */
  readonly renewed: () => number
  /** Told once that the log has another event there, or none. */
  readonly onDiverged: (anchor: Anchor, found: string | undefined) => void
  /** Milliseconds: how often it is looked, how long a doubt may last unseen, and how long before it is believed. */
  readonly everyMs?: number
  readonly doubtMs?: number
  readonly confirmMs?: number
}

const TICK_MS = 250

/**
 * Sees to it that the log is still the one that was followed. A follower delivers before the leader shows, and a leader
 * that was deposed shows an older log for a moment: a doubt that lasts makes the instance suspicious, and only one that
 * outlives both is believed.
 */
export const logGuard = (options: LogGuardOptions) => {
  const { log, followed, renewed, onDiverged, everyMs = 2_000, doubtMs = 250, confirmMs = 3_000 } = options
  const stop = new AbortController()
  let suspicious = false
  let diverged = false
  let asking: Promise<unknown> | undefined

  /** Asks until the log has the event there, or has not had it for so long that it is believed. */
  const ask = async (
    anchor: Anchor,
    onDoubt: () => void,
  ): Promise<{ readonly has: boolean; readonly found?: string | undefined }> => {
    if (anchor.position === 0n) return { has: true }
    for (let [since, wait] = [performance.now(), 10]; ; wait = Math.min(2 * wait, 250)) {
      const found = (await log.at(anchor.position))?.id
      if (found === anchor.event) return { has: true }
      const doubted = performance.now() - since
      if (doubted >= doubtMs) onDoubt()
      if (doubted >= confirmMs || stop.signal.aborted) return { has: false, found }
      await pause(wait, stop.signal)
    }
  }
  const look = async (): Promise<boolean> => {
    const anchor = followed()
    const { has, found } = await ask(anchor, () => (suspicious = true))
    if (has) suspicious = false
    else if (!diverged && !stop.signal.aborted) {
      diverged = true
      onDiverged(anchor, found)
    }
    return has
  }
  /** Looks aside. Without an answer nothing is known, and the lease of freshness runs out by itself. */
  const doubt = (): Promise<unknown> =>
    (asking ??= look()
      .catch(() => undefined)
      .finally(() => (asking = undefined)))

  const run = async () => {
    let [at, seen] = [performance.now(), renewed()]
    while (!stop.signal.aborted) {
      if (renewed() !== seen || performance.now() - at >= everyMs) {
        ;[at, seen] = [performance.now(), renewed()]
        await doubt()
      }
      await pause(TICK_MS, stop.signal)
    }
  }
  const running = run()

  return {
    /** True where the log has the last event that was followed, as it is now. Rejects where it is out of reach. */
    agrees: look,
    doubt,
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

import { onCluster } from '../cluster/own.ts'
import type { VirtualClock } from '../virtual-clock.ts'

/**
 * Advances the clock that counts the minutes of rate limits: without servers the monotonic clock, with them the wall
 * clock. A step of the wall clock fires none of the many timers that watch servers.
 */
export const advanceLimits = async (clock: VirtualClock, ms: number): Promise<void> =>
  onCluster ? clock.jump(ms) : clock.advance(ms)

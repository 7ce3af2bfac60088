import type { FreshnessOptions } from '../../projections/engine/freshness.ts'
import type { Logger } from './logger.ts'

const seconds = (ms: number): number => Math.round(ms / 100) / 10

/**
 * Logs periods in which this instance cannot prove that it has every revocation: one WARN line with the cause, and one
 * INFO line at the end.
 */
export const staleSpells = (
  logger: Pick<Logger, 'info' | 'warn'>,
  position: () => bigint,
): Required<Pick<FreshnessOptions, 'onStale' | 'onFresh'>> => ({
  onStale: ({ forMs, why, head }) =>
    logger.warn(
      { seconds: seconds(forMs), why, ...(head !== undefined && { head: String(head) }), memory: String(position()) },
      'this instance cannot prove that it has received every revocation of a token, so requests with a credential are refused (503 auth_stale); check that EventStoreDB runs, has a leader and is reachable',
    ),
  onFresh: (afterMs) =>
    logger.info({ seconds: seconds(afterMs) }, 'this instance has again received every revocation of a token'),
})

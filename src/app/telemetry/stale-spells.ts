import type { FreshnessOptions } from '../../projections/engine/freshness.ts'
import type { Logger } from './logger.ts'

const seconds = (ms: number): number => Math.round(ms / 100) / 10

/** One WARN line for each spell in which this instance cannot prove that it knows every revocation, with the cause, and one INFO line when it is over. */
export const staleSpells = (
  logger: Pick<Logger, 'info' | 'warn'>,
  position: () => bigint,
): Required<Pick<FreshnessOptions, 'onStale' | 'onFresh'>> => ({
  onStale: ({ forMs, why, head }) =>
    logger.warn(
      { seconds: seconds(forMs), why, ...(head !== undefined && { head: String(head) }), memory: String(position()) },
      'no proof that every revocation is known here: requests with a credential are refused (503 auth_stale) until there is one; see that EventStoreDB runs, has a leader and can be reached',
    ),
  onFresh: (afterMs) => logger.info({ seconds: seconds(afterMs) }, 'every revocation is known here again'),
})

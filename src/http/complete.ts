import { refuse } from '../errors.ts'
import { tokens } from '../projections/tokens.ts'
import type { Service } from './service.ts'

/** So long the read models may take to hold what is in the log. */
const WAIT_MS = 2_000

export const viewBehind = (position: bigint): never =>
  refuse('view_behind', `view is behind position ${position}`, { headers: { 'retry-after': '1' } })

/** Waits until lists of tokens hold all that is in the log now; gives its position. 503 `view_behind` when that takes too long. */
export const completeTokens = async (
  { log, viewsReached }: Pick<Service, 'log' | 'viewsReached'>,
  withinMs = WAIT_MS,
): Promise<bigint> => {
  const position = await log.head()
  return (await viewsReached(tokens, position, withinMs)) ? position : viewBehind(position)
}

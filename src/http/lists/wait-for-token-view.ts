import { viewBehind, WAIT_MS } from '../../as-of/view-behind.ts'
import { tokens } from '../../projections/tokens.ts'
import type { Service } from '../service.ts'

/** Waits until lists of tokens hold all that is in the log now; gives its position. 503 `view_behind` when that takes too long. */
export const waitForTokenView = async (
  { log, viewsReached }: Pick<Service, 'log' | 'viewsReached'>,
  withinMs = WAIT_MS,
): Promise<bigint> => {
  const position = await log.head()
  return (await viewsReached(tokens, position, withinMs)) ? position : viewBehind(position)
}

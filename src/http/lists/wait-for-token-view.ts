import { viewBehind, WAIT_MS } from '../../as-of/reads.ts'
import { tokens } from '../../projections/tokens.ts'
import type { CommandServices } from '../services/commands.ts'
import type { TokenServices } from '../services/tokens.ts'

/**
 * Waits until the token view contains all events in the log at the time of the call, and returns that position. Refuses
 * with 503 `view_behind` after a timeout.
 */
export const waitForTokenView = async (
  { log, viewsReached }: Pick<CommandServices, 'log'> & Pick<TokenServices, 'viewsReached'>,
  withinMs = WAIT_MS,
): Promise<bigint> => {
  const position = await log.head()
  return (await viewsReached(tokens, position, withinMs)) ? position : viewBehind(position)
}

import { viewBehind, WAIT_MS } from '../../as-of/view-behind.ts'
import { tokens } from '../../projections/tokens.ts'
import type { CommandServices } from '../services/commands.ts'
import type { ReadServices } from '../services/reads.ts'

/** Waits until lists of tokens hold all that is in the log now; gives its position. 503 `view_behind` when that takes too long. */
export const waitForTokenView = async (
  { log, viewsReached }: Pick<CommandServices, 'log'> & Pick<ReadServices, 'viewsReached'>,
  withinMs = WAIT_MS,
): Promise<bigint> => {
  const position = await log.head()
  return (await viewsReached(tokens, position, withinMs)) ? position : viewBehind(position)
}

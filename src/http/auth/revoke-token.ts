import type { Context } from '../../commands/envelope.ts'
import type { Fold } from '../../commands/stream-folds.ts'
import { type Token, token } from '../../commands/token.ts'
import type { Stored } from '../../events/log.ts'
import type { CommandServices } from '../services/commands.ts'
import type { TokenServices } from '../services/tokens.ts'

/** Fold of an active token's stream, from memory. */
const foldInMemory = ({ tokenStanding }: Pick<TokenServices, 'tokenStanding'>, id: string): Fold<Token> | undefined => {
  const known = tokenStanding(id)
  // Each event of a token raises its revision by one.
  return known && { state: { status: 'live', expiresAt: known.expiresAt }, changes: known.at + 1n, at: known.at }
}

/**
 * Revokes a token and applies the events to memory. Returns them; none if it had already ended. The state in memory
 * saves reading the stream; if it is outdated, the append fails and the stream is read.
 */
export const revokeToken = async (
  service: CommandServices & Pick<TokenServices, 'tokenStanding'>,
  id: string,
  context: Context,
): Promise<readonly Stored[]> => {
  // With If-Match, the stream is read, because memory may be behind.
  const known = context.ifMatch === undefined ? foldInMemory(service, id) : undefined
  const { stored } = await service.execute(token, id, 'RevokeToken', { id }, context, known)
  await service.applied(stored)
  return stored
}

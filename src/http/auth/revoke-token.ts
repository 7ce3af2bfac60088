import type { Context } from '../../commands/envelope.ts'
import type { Fold } from '../../commands/stream-folds.ts'
import { type Token, token } from '../../commands/token.ts'
import type { Stored } from '../../events/log.ts'
import type { AuthServices } from '../services/auth.ts'
import type { CommandServices } from '../services/commands.ts'

/** The fold of a live token's stream as memory knows it. */
const foldInMemory = ({ tokenStanding }: AuthServices, id: string): Fold<Token> | undefined => {
  const known = tokenStanding(id)
  // Every event of a token moves its revision as clients see it.
  return known && { state: { status: 'live', expiresAt: known.expiresAt }, changes: known.at + 1n, at: known.at }
}

/** Ends a token, here at once; gives the event, if it had not ended before. What memory knows of it saves a read of its stream: where that is not the newest, the append fails and the stream is read. */
export const revokeToken = async (
  service: CommandServices & AuthServices,
  id: string,
  context: Context,
): Promise<readonly Stored[]> => {
  // Whether a revision matches is for the stream to say.
  const known = context.ifMatch === undefined ? foldInMemory(service, id) : undefined
  const { stored } = await service.execute(token, id, 'RevokeToken', { id }, context, known)
  await service.applied(stored)
  return stored
}

import { rowNow } from '../../as-of/as-of.ts'
import { lastKnown } from '../../projections/projection.ts'
import { tokens } from '../../projections/tokens.ts'
import type { CommandServices } from '../services/commands.ts'

/** Finds the namespace that a token is bound to, whatever became of its record since. */
export const namespaceOfRecord =
  ({ log }: CommandServices) =>
  async (id: string): Promise<string | undefined> =>
    lastKnown(await rowNow(log, tokens, id))?.namespace

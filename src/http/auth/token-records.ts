import { rowNow } from '../../as-of/as-of.ts'
import { lastKnown } from '../../projections/projection.ts'
import { tokens } from '../../projections/tokens.ts'
import type { CommandServices } from '../services/commands.ts'

/** Returns the namespace to which a token is bound, even if its record is deleted or quarantined. */
export const namespaceOfRecord =
  ({ log }: CommandServices) =>
  async (id: string): Promise<string | undefined> =>
    lastKnown(await rowNow(log, tokens, id))?.namespace

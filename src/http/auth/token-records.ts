import { rowNow } from '../../as-of/as-of.ts'
import { lastKnown } from '../../projections/projection.ts'
import { tokens } from '../../projections/tokens.ts'
import type { Service } from '../service.ts'

/** Finds the namespace that a token is bound to, whatever became of its record since. */
export const namespaceOfRecord =
  ({ log }: Service) =>
  async (id: string): Promise<string | undefined> =>
    lastKnown(await rowNow(log, tokens, id))?.namespace

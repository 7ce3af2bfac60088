import { rowNow } from '../../as-of/as-of.ts'
import { lastKnown } from '../../projections/projection.ts'
import { type TokenDoc, tokens } from '../../projections/tokens.ts'
import type { Views } from '../../projections/views.ts'
import type { CommandServices } from '../services/commands.ts'

/** Returns the namespace to which a token is bound, even if its record is deleted or unreadable. */
export const namespaceOfRecord =
  ({ log }: CommandServices) =>
  async (id: string): Promise<string | undefined> =>
    lastKnown(await rowNow(log, tokens, id))?.namespace

/** Id of the token with this digest or fingerprint, according to the view; the stream of the token decides. */
export const idBy = async (
  views: Pick<Views, 'list'>,
  field: 'digest' | 'fingerprint',
  text: string,
): Promise<string | undefined> => {
  const where = { [field]: { equals: [text] } }
  const { rows } = await views.list<TokenDoc>(tokens, { where, order: 'createdAt', limit: 1 })
  return rows[0]?.doc?.id
}

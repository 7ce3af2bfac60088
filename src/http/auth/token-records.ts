import { rowNow } from '../../as-of/as-of.ts'
import { sharedCalls } from '../../base/concurrency.ts'
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

/** Maximum number of digests in one search. */
const TOGETHER = 500

/**
 * Finds the ids of tokens by their digests, like `idBy`. Callers at the same time share a search, which starts after
 * their calls, so many guesses need few searches.
 */
export const idsByDigest = (views: Pick<Views, 'list'>) => {
  const wanted = new Set<string>()
  const shared = sharedCalls<ReadonlyMap<string, string>>()
  const search = async () => {
    const [digests, ids] = [[...wanted], new Map<string, string>()]
    wanted.clear()
    for (let n = 0; n < digests.length; n += TOGETHER) {
      const equals = digests.slice(n, n + TOGETHER)
      const query = { where: { digest: { equals } }, order: 'createdAt', limit: equals.length }
      for (const { doc } of (await views.list<TokenDoc>(tokens, query)).rows) if (doc) ids.set(doc.digest, doc.id)
    }
    return ids
  }
  return async (digest: string): Promise<string | undefined> => {
    wanted.add(digest)
    return (await shared('digests', search)).get(digest)
  }
}

import { rowNow } from '../../as-of/as-of.ts'
import { partsOf, sharedCalls } from '../../base/concurrency.ts'
import { lastKnown } from '../../projections/projection.ts'
import type { Where } from '../../projections/token-status.ts'
import { type TokenDoc, tokens } from '../../projections/tokens.ts'
import type { Query, Views } from '../../projections/views.ts'
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

/** Maximum number of records in one batch. */
const BATCH = 100

/** Records of the token view in the order of creation, in batches. Each batch is read by the conditions at its time. */
export async function* tokenBatches(
  { views, now }: { readonly views: Pick<Views, 'list'>; readonly now: () => Date },
  whereAt: (now: Date) => Where,
): AsyncGenerator<readonly TokenDoc[]> {
  for (let after: Query['after'], more = true; more; ) {
    const page = { where: whereAt(now()), order: 'createdAt', limit: BATCH, ...(after && { after }) }
    const docs = (await views.list<TokenDoc>(tokens, page)).rows.flatMap(({ doc }) => doc ?? [])
    yield docs
    const last = docs.at(-1)
    more = docs.length === BATCH
    if (last) after = { value: last.createdAt, key: last.id }
  }
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
    for (const equals of partsOf(digests, TOGETHER)) {
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

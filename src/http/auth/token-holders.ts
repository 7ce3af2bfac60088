import { LRUCache } from 'lru-cache'
import { Refusal } from '../../base/errors.ts'
import { type TokenDoc, tokens } from '../../projections/tokens.ts'
import type { Views } from '../../projections/views.ts'

/** Maximum number of issuing tokens followed from a static token. */
const MAKERS = 16
/** Maximum number of cached holders. */
const KEPT = 10_000

/**
 * Returns the holder of a token as a text shared by all its tokens: the person or service account of a login or
 * exchange. A static token has the holder of its issuing token, or its own id without one. If the record of a token
 * cannot be read, the token is its own holder.
 */
export const tokenHolders = (views: Pick<Views, 'get'>) => {
  const known = new LRUCache<string, string>({ max: KEPT })

  const follow = async (id: string, makers: number): Promise<string | undefined> => {
    const doc = (await views.get<TokenDoc>(tokens, id))?.doc
    if (!doc) return undefined
    if (doc.method !== 'token' && doc.identity !== undefined) return `${doc.method} ${doc.identity}`
    if (doc.issuedBy === undefined || makers === 0) return id
    return (await follow(doc.issuedBy, makers - 1)) ?? doc.issuedBy
  }

  return async (id: string): Promise<string> => {
    const held = known.get(id)
    if (held !== undefined) return held
    const found = await follow(id, MAKERS).catch((error: unknown) => {
      if (error instanceof Refusal) return undefined
      throw error
    })
    if (found !== undefined) known.set(id, found)
    return found ?? id
  }
}

import { LRUCache } from 'lru-cache'
import { Refusal } from '../../errors.ts'
import { type TokenDoc, tokens } from '../../projections/tokens.ts'
import type { Views } from '../../projections/views.ts'

/** Makers that are followed from a static token. */
const MAKERS = 16
/** Tokens whose holders are remembered. */
const KEPT = 10_000

/**
 * Tells whose a token is, by a text that all tokens of one holder share: the person or service account that it was
 * issued to; of a static token the holder of the token that made it, and its own id where none did. While its record
 * cannot be read, a token is its own holder.
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

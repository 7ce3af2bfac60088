import { hash } from 'node:crypto'
import { evolve } from '../commands/decider.ts'
import { token } from '../commands/token.ts'
import type { Log } from '../events/log.ts'
import type { TokenEntry, TokenIndex } from '../projections/token-index.ts'
import { type TokenDoc, tokens } from '../projections/tokens.ts'
import type { Views } from '../projections/views.ts'

const HOT = 65_536

export type TokenCheckOptions = {
  readonly index: TokenIndex
  readonly digest: (secret: string) => string
  readonly plausible: (secret: string) => boolean
  readonly log: Log
  readonly views: Views
  readonly now: () => Date
  /** True when every token there is stands in the index, so a token not found there does not exist. */
  readonly indexIsWhole: () => boolean
}

/** Answers whose a client token is. A plain SHA-256, kept in memory only, stands in front of the peppered digest for tokens seen before. */
export const tokenCheck = ({ index, digest, plausible, log, views, now, indexIsWhole }: TokenCheckOptions) => {
  const hot = new Map<string, { readonly key: string; readonly entry: TokenEntry }>()
  const live = (expiry: number | undefined) => expiry !== undefined && now().getTime() < expiry

  const keep = (secret: string, key: string, entry: TokenEntry) => {
    if (hot.size >= HOT) hot.delete(hot.keys().next().value!)
    hot.set(hash('sha256', secret, 'binary'), { key, entry })
    return entry
  }

  /** The view names the stream, the stream decides: write access to the view grants nothing, and a miss is never stale. */
  const fromLog = async (digested: string): Promise<TokenEntry | undefined> => {
    const { rows } = await views.list<TokenDoc>(tokens, { where: { digest: { equals: [digested] } }, order: 'createdAt', limit: 1 })
    const doc = rows[0]?.doc
    if (!doc) return undefined
    let state = token.initial
    for await (const page of log.read(`token-${doc.id}`)) {
      for (const { type, data } of page) state = evolve(token, state, token.read(type, data))
    }
    if (state.status !== 'live' || state.digest !== digested) return undefined
    if (state.expiresAt !== undefined && !live(Date.parse(state.expiresAt))) return undefined
    return { id: doc.id, method: doc.method, namespace: state.namespace }
  }

  return {
    /** The owner of a token seen before and valid now; undefined says nothing about validity. */
    known: (secret: string): TokenEntry | undefined => {
      const seen = hot.get(hash('sha256', secret, 'binary'))
      return seen && live(index.expiry(seen.key)) ? seen.entry : undefined
    },
    /** The owner of any valid token, or undefined when the text is no valid token. */
    find: async (secret: string): Promise<TokenEntry | undefined> => {
      if (!plausible(secret)) return undefined
      const digested = digest(secret)
      const key = index.keyOf(digested)
      const expiry = index.expiry(key)
      if (expiry !== undefined) return live(expiry) ? keep(secret, key, index.entry(key)!) : undefined
      return indexIsWhole() ? undefined : fromLog(digested)
    },
  }
}

export type TokenCheck = ReturnType<typeof tokenCheck>

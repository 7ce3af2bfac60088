import { hash } from 'node:crypto'
import { common } from '../../access/reach.ts'
import { rowNow } from '../../as-of/as-of.ts'
import type { EventLog } from '../../events/log.ts'
import { readable } from '../../projections/projection.ts'
import { reachTextOf } from '../../projections/token-memory/reach-pool.ts'
import type { TokenIndex } from '../../projections/token-memory/token-index.ts'
import type { TokenInUse } from '../../projections/token-memory/token-slots.ts'
import { usableUntil } from '../../projections/token-status.ts'
import { type TokenDoc, tokens } from '../../projections/tokens.ts'
import type { Views } from '../../projections/views.ts'
import type { Looked, TokenVerifier } from '../services/auth.ts'
import { tokenCache } from './token-cache.ts'

/** Later than every configuration of access, and still a small integer, as the numbers beside it are. */
const ANY_POLICY = 2 ** 30 - 1

type TokenVerifierOptions = {
  readonly index: TokenIndex
  readonly digest: (secret: string) => string
  readonly plausible: (secret: string) => boolean
  readonly log: EventLog
  readonly views: Views
  readonly now: () => Date
  /** Resolves to true once the index has seen all that was in the log at the time of the call, to false if that takes too long. */
  readonly caughtUp: () => Promise<boolean>
}

/**
 * Answers whose a client token is. Index and view only say which stream to read: at a token's first use here its own stream decides, so
 * write access to a read model grants nothing. After that a plain SHA-256, kept in memory only, stands in front of the peppered digest,
 * and the index, which follows the log, says when the token ends and that it may still do what it could. A token that the index does not know, and did not forget, is none: only one
 * that it may have forgotten is searched for in the view.
 */
export const tokenVerifier = ({
  index,
  digest,
  plausible,
  log,
  views,
  now,
  caughtUp,
}: TokenVerifierOptions): TokenVerifier => {
  const cache = tokenCache()

  const idOf = async (secret: string, key: string, digested: string): Promise<string | undefined> => {
    // A token that was valid here and is no more: its stream says so, and nothing need be searched each time it comes again.
    const held = index.entry(key) ?? cache.get(hash('sha256', secret, 'binary'))?.entry
    const known = held?.id ?? index.closed(key)
    if (known !== undefined) return known
    if (!index.mayBeEvicted(key) && (await caughtUp()) && !index.mayBeEvicted(key))
      return index.entry(key)?.id ?? index.closed(key)
    const { rows } = await views.list<TokenDoc>(tokens, {
      where: { digest: { equals: [digested] } },
      order: 'createdAt',
      limit: 1,
    })
    return rows[0]?.doc?.id
  }

  /** The token as the log has it, if it is valid now. The index may know of its end, or of less that it may do, before the stream shows it. Where its stream cannot be read nobody knows: 503 `event_unreadable`. */
  const fromLog = async (id: string, key: string, digested: string) => {
    const row = await rowNow(log, tokens, id)
    if (index.ended(key)) return undefined
    const doc = readable(row)?.doc
    if (doc?.digest !== digested) return undefined
    const expiresAt = Math.min(usableUntil(doc), index.expiry(key) ?? Number.POSITIVE_INFINITY)
    if (now().getTime() >= expiresAt) return undefined
    // One that was forgotten for want of room comes back: it is in use.
    index.remember(row!)
    const { method, namespace, policy } = doc
    const judged = method === 'token' ? ANY_POLICY : (policy ?? -1)
    const recorded = index.reachOf(reachTextOf(doc))
    const reach = common(recorded, index.entry(key)?.reach ?? recorded)
    return { entry: { id, method, namespace, reach, policy, judged }, expiresAt }
  }

  const look = async (secret: string): Promise<Looked> => {
    if (!plausible(secret)) return { isOurs: false }
    const digested = digest(secret)
    const key = index.keyOf(digested)
    // The end of a token is the end of it: its stream has nothing to say that would change this.
    if (index.ended(key)) return { isOurs: true }
    const id = await idOf(secret, key, digested)
    if (id === undefined) return { isOurs: false }
    const found = await fromLog(id, key, digested)
    return { isOurs: true, ...(found && { entry: cache.put(hash('sha256', secret, 'binary'), { key, ...found }) }) }
  }

  return {
    /** The owner of a token seen before, valid now and with the same reach; undefined says nothing about validity. */
    cached: (secret: string): TokenInUse | undefined => {
      const seen = cache.get(hash('sha256', secret, 'binary'))
      if (seen === undefined) return undefined
      const time = now().getTime()
      return time < seen.expiresAt && index.isStill(seen.key, seen.entry, time) ? seen.entry : undefined
    },
    /** The owner of any valid token, or undefined when the text is no valid token. */
    verify: async (secret: string): Promise<TokenInUse | undefined> => (await look(secret)).entry,
    /** The same, and whether it is or was a token of this installation at all. */
    look,
  }
}

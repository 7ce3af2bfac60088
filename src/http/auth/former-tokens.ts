import { LRUCache } from 'lru-cache'
import { rowNow } from '../../as-of/as-of.ts'
import type { Clock } from '../../base/clock.ts'
import type { EventLog } from '../../events/log.ts'
import { tokens } from '../../projections/tokens.ts'
import type { Views } from '../../projections/views.ts'
import { idBy } from './token-records.ts'

/** Maximum lookups per second, and in progress at one time. */
const A_SECOND = 10
const AT_ONCE = 10
/** Number of tokens whose id is remembered. */
const REMEMBERED = 1_000

type FormerTokensOptions = {
  /** Id of a token that was valid on this instance, from memory. */
  readonly idBefore: (secret: string) => string | undefined
  readonly digest: (secret: string) => string
  readonly plausible: (secret: string) => boolean
  readonly log: EventLog
  readonly views: Views
  readonly clock: Pick<Clock, 'monotonic'>
  readonly onError: (error: unknown) => void
}

/**
 * Finds the revoked, expired or removed token of a refused credential. Memory contains tokens that were valid on this
 * instance. For all other tokens the view contains the id, with which the stream of the token is read to confirm it.
 * Lookups beyond the limit are skipped, because anyone can cause them.
 */
export const formerTokens = ({ idBefore, digest, plausible, log, views, clock, onError }: FormerTokensOptions) => {
  const known = new LRUCache<string, string>({ max: REMEMBERED })
  let [second, lookups, running] = [0, 0, 0]

  const isAdmitted = (): boolean => {
    const now = Math.floor(clock.monotonic() / 1_000)
    if (now !== second) [second, lookups] = [now, 0]
    return lookups < A_SECOND && running < AT_ONCE
  }

  const search = async (digested: string): Promise<string | undefined> => {
    const id = await idBy(views, 'digest', digested)
    if (id === undefined) return undefined
    const row = await rowNow(log, tokens, id)
    return row?.doc?.digest === digested ? id : undefined
  }

  return {
    /**
     * Id of the token with this secret; undefined if this installation never issued the token, or if the lookup was
     * skipped. Never throws.
     */
    idOf: async (secret: string): Promise<string | undefined> => {
      if (!plausible(secret)) return undefined
      const before = idBefore(secret)
      if (before !== undefined) return before
      const digested = digest(secret)
      const found = known.get(digested)
      if (found !== undefined || !isAdmitted()) return found
      lookups++
      running++
      try {
        const id = await search(digested)
        if (id !== undefined) known.set(digested, id)
        return id
      } catch (error) {
        onError(error)
        return undefined
      } finally {
        running--
      }
    },
  }
}

export type FormerTokens = ReturnType<typeof formerTokens>

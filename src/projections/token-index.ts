import { LRUCache } from 'lru-cache'
import { type Method, METHODS } from '../events/token.ts'
import { tokenMakers } from './issuer-tally.ts'
import { numberedTexts, tokenColumns } from './token-columns.ts'
import { usableUntil } from './token-status.ts'
import type { TokenDoc } from './tokens.ts'
import type { Row } from './views.ts'

/** What every request needs of a token: numbers and shared texts only. `expiresAt` is epoch milliseconds, Infinity = never. */
export type TokenEntry = {
  readonly id: string
  readonly method: Method
  readonly namespace: string | undefined
}

const keyOf = (digest: string): string =>
  Buffer.from(digest.slice(digest.indexOf('.') + 1), 'base64url').toString('latin1')

/** Tokens that ended last, of which a read may not show it yet. */
const ENDED = 10_000

/**
 * The live tokens of this instance in columns of typed arrays: about a hundred bytes each, and nothing for the collector to walk.
 * Bounded: past `capacity` the longest kept is forgotten, and the caller looks it up in the view and the log.
 */
export const tokenIndex = (capacity: number) => {
  const slots = new Map<string, number>()
  const { columns, take, giveBack, ...held } = tokenColumns()
  const makers = tokenMakers()
  const namespaces = numberedTexts()
  const ended = new LRUCache<string, true>({ max: ENDED })
  let forgotten = 0
  const deleted = METHODS.map(() => 0)

  const remove = (key: string): boolean => {
    const slot = slots.get(key)
    if (slot === undefined) return false
    slots.delete(key)
    if (METHODS[columns.kinds[slot]!] === 'token') makers.remove(columns.madeBy[slot]!)
    giveBack(slot)
    return true
  }

  return {
    /** Takes the newest row of a token: live tokens are kept, all others forgotten but for their number. `first`: each token is told once, at start. */
    remember: ({ doc }: Row<TokenDoc>, first = false): void => {
      if (!doc) return
      const key = keyOf(doc.digest)
      const until = usableUntil(doc)
      if (until === Number.NEGATIVE_INFINITY) {
        // The same end seen again, while catching up with the log, finds nothing to remove.
        if (remove(key) || first) deleted[METHODS.indexOf(doc.method)]!++
        if (!first) ended.set(key, true)
        return
      }
      let slot = slots.get(key)
      if (slot === undefined) {
        if (slots.size >= capacity) {
          remove(slots.keys().next().value!)
          forgotten++
        }
        slot = take()
        slots.set(key, slot)
        columns.kinds[slot] = METHODS.indexOf(doc.method)
        columns.scopes[slot] = namespaces.numberOf(doc.namespace)
        if (doc.method === 'token') columns.madeBy[slot] = makers.add(doc.issuedBy)
        held.setId(slot, doc.id)
      }
      columns.expires[slot] = until
    },
    /** The key of a digest text, to look up by. */
    keyOf,
    /** Epoch milliseconds at which the token ends (Infinity = never), or undefined when it is not in the index. */
    expiry: (key: string): number | undefined => {
      const slot = slots.get(key)
      return slot === undefined ? undefined : columns.expires[slot]
    },
    /** True for a token that was revoked or cleaned up lately, as far as this instance knows. */
    ended: (key: string): boolean => ended.has(key),
    entry: (key: string): TokenEntry | undefined => {
      const slot = slots.get(key)
      if (slot === undefined) return undefined
      return {
        id: held.id(slot),
        method: METHODS[columns.kinds[slot]!]!,
        namespace: namespaces.text(columns.scopes[slot]!),
      }
    },
    /** How many static tokens that are not deleted this credential has made, as far as this instance holds them. */
    madeBy: makers.count,
    /** True while every live token is in the index, so that a token not found here does not exist. */
    complete: (): boolean => forgotten === 0,
    size: (): number => slots.size,
    /** How many records there are of each method and status, as far as this instance holds them. */
    census: (now: number) => {
      const counts = METHODS.map((method, n) => ({ method, ACTIVE: 0, EXPIRED: 0, DELETED: deleted[n]! }))
      for (let slot = 0; slot < held.size(); slot++) {
        const ends = columns.expires[slot]!
        if (ends > now) counts[columns.kinds[slot]!]!.ACTIVE++
        else if (ends <= now) counts[columns.kinds[slot]!]!.EXPIRED++
      }
      return counts
    },
  }
}

export type TokenIndex = ReturnType<typeof tokenIndex>

import { LRUCache } from 'lru-cache'
import { METHODS } from '../../events/token.ts'
import { usableUntil } from '../token-status.ts'
import type { Row } from '../views.ts'
import { applyEvent } from './apply-event.ts'
import { quarantinedTokens } from './quarantined-tokens.ts'
import { reachTextOf } from './reach-pool.ts'
import type { tokenColumns } from './token-columns.ts'
import { hasKey, keyOf } from './token-keys.ts'
import { type HeldOfToken, MOST_REVISION, type TokenEntry, tokenSlots } from './token-slots.ts'
import { type TokenSnapshot, tokensIn } from './token-snapshot.ts'

/** Number of recently ended tokens that are remembered, because the views may still contain them as live. */
const ENDED = 10_000

/** Revision of the last event of a live token, and its expiry. */
export type TokenStanding = { readonly at: bigint; readonly expiresAt?: string }

type Columns = ReturnType<typeof tokenColumns>['columns']

const censusOf = ({ expires, kinds }: Columns, slots: number, deleted: readonly number[], now: number) => {
  const counts = METHODS.map((method, n) => ({ method, ACTIVE: 0, EXPIRED: 0, DELETED: deleted[n]! }))
  for (let slot = 0; slot < slots; slot++) {
    const ends = expires[slot]!
    if (ends > now) counts[kinds[slot]!]!.ACTIVE++
    else if (ends <= now) counts[kinds[slot]!]!.EXPIRED++
  }
  return counts
}

type TokenMemory = {
  readonly slots: ReturnType<typeof tokenSlots>
  readonly ended: LRUCache<string, true>
  readonly closed: ReturnType<typeof quarantinedTokens>
  readonly deleted: number[]
  readonly end: (slot: number) => void
}

const remembering = ({ slots, ended, closed, deleted, end }: TokenMemory) => {
  const { columns, keys } = slots

  /**
   * Removes a token whose stream is unreadable, and remembers its id by its key, so that its holder gets
   * `event_unreadable`.
   */
  const close = (id: string, digest: string | undefined): void => {
    const slot = keys.byId(id)
    const key = slot === undefined ? digest && keyOf(digest) : keys.key(slot)
    if (slot !== undefined) slots.remove(slot)
    if (key) closed.close(key, id)
  }

  return ({ key: id, doc, revision, unreadable }: Row<HeldOfToken>): void => {
    if (unreadable) return close(id, unreadable.before?.digest ?? unreadable.clue)
    const known = closed.open(id)
    // Only an ended token has no document.
    if (known && !doc) ended.set(known, true)
    if (!doc) return
    const key = keyOf(doc.digest)
    const until = usableUntil(doc)
    const held = keys.byKey(key)
    if (until === Number.NEGATIVE_INFINITY) {
      // A repeated end, during catch-up with the log, finds nothing to remove.
      if (held !== undefined) end(held)
      else if (slots.mayBeEvicted(key) && !ended.has(key)) deleted[METHODS.indexOf(doc.method)]!++
      ended.set(key, true)
    } else if (!hasKey(id)) slots.addEvicted(key)
    else if (held === undefined || revision >= slots.revision(held)) {
      const slot = held ?? slots.add(key, id, doc)
      columns.expires[slot] = until
      if (held !== undefined) slots.setReach(slot, reachTextOf(doc), doc.policy)
      slots.setRevision(slot, revision)
    }
  }
}

/**
 * Index of the live tokens of this instance. It consists of columns of typed arrays, which take less than 100 bytes per
 * token and no work of the garbage collector. Beyond `capacity` tokens or `reachBytes` bytes of reaches, tokens are
 * evicted; an evicted token returns when its row is remembered again.
 */
export const tokenIndex = (capacity: number, reachBytes?: number) => {
  const slots = tokenSlots(capacity, reachBytes)
  const { columns, keys } = slots
  const ended = new LRUCache<string, true>({ max: ENDED })
  const closed = quarantinedTokens()
  const deleted = METHODS.map(() => 0)

  const end = (slot: number): void => {
    ended.set(keys.key(slot), true)
    deleted[columns.kinds[slot]!]!++
    slots.remove(slot)
  }

  return {
    /** Applies the newest row of a token. A live token is stored, of others only the count. */
    remember: remembering({ slots, ended, closed, deleted, end }),
    take: applyEvent(slots, end),
    /** Last followed revision of a token in memory, and its expiry; undefined if unknown. */
    standing: (id: string): TokenStanding | undefined => {
      const slot = keys.byId(id)
      const at = slot === undefined ? MOST_REVISION : slots.revision(slot)
      if (slot === undefined || at === MOST_REVISION) return undefined
      const expires = columns.expires[slot]!
      return { at, ...(expires !== Number.POSITIVE_INFINITY && { expiresAt: new Date(expires).toISOString() }) }
    },
    /** Key of a digest, for lookups. */
    keyOf,
    /** Expiry of the token in epoch ms (Infinity = never); undefined if it is not in the index. */
    expiry: (key: string): number | undefined => {
      const slot = keys.byKey(key)
      if (slot === undefined) return undefined
      columns.referenced[slot] = 1
      return columns.expires[slot]
    },
    /** True if a token is unchanged since `entry` was read: it has not ended, and has the same reach. */
    isStill: (key: string, entry: TokenEntry, time: number): boolean => {
      const slot = keys.byKey(key)
      if (slot === undefined) return false
      columns.referenced[slot] = 1
      return time < columns.expires[slot]! && slots.hasReach(slot, entry)
    },
    /** The reach of a text; the shared object if a token in memory has it. */
    reachOf: slots.reachOf,
    /** True if a recent revocation or cleanup of the token is recorded here. */
    ended: (key: string): boolean => ended.has(key),
    /** Id of a quarantined token. */
    closed: closed.id,
    entry: (key: string): TokenEntry | undefined => {
      const slot = keys.byKey(key)
      return slot === undefined ? undefined : slots.entry(slot)
    },
    /** Sets the number of deleted tokens by method. */
    deletedBefore: (counts: ReadonlyMap<string, number>): void => {
      for (const [n, method] of METHODS.entries()) deleted[n] = counts.get(method) ?? 0
    },
    /** Live static tokens that this credential has created, among those in memory. */
    made: slots.made,
    /**
     * True for every evicted live token, and rarely for others. Any other token that is not found here does not exist.
     */
    mayBeEvicted: slots.mayBeEvicted,
    size: keys.size,
    /** Approximate memory of all reaches in bytes. */
    reachBytes: slots.reachBytes,
    /** Maximum memory of all reaches in bytes. */
    mostReachBytes: slots.mostReachBytes,
    /** Copies the index synchronously; undefined after an overflow of the Bloom filter. */
    copy: (): TokenSnapshot | undefined => slots.copy(deleted),
    /** True if a copy has at most `most` tokens. */
    fits: (from: TokenSnapshot, most: number): boolean => tokensIn(from) <= most,
    /** Restores a copy into the empty index. */
    restore: (from: TokenSnapshot): void => {
      slots.restore(from)
      for (const [n, count] of from.facts.deleted.entries()) deleted[n] = count
    },
    /** Number of records by method and status, on this instance. */
    census: (now: number) => censusOf(columns, slots.size(), deleted, now),
  }
}

export type TokenIndex = ReturnType<typeof tokenIndex>

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

/** Tokens that ended last, of which a read may not show it yet. */
const ENDED = 10_000

/** The revision of the last event of a live token, and its expiry. */
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

  /** Takes a token out whose stream cannot be read, and remembers by its key which it is, so that its holder is told so. */
  const close = (id: string, digest: string | undefined): void => {
    const slot = keys.byId(id)
    const key = slot === undefined ? digest && keyOf(digest) : keys.key(slot)
    if (slot !== undefined) slots.remove(slot)
    if (key) closed.close(key, id)
  }

  return ({ key: id, doc, revision, unreadable }: Row<HeldOfToken>): void => {
    if (unreadable) return close(id, unreadable.before?.digest ?? unreadable.clue)
    const known = closed.open(id)
    // Nothing but its end leaves a token without a record.
    if (known && !doc) ended.set(known, true)
    if (!doc) return
    const key = keyOf(doc.digest)
    const until = usableUntil(doc)
    const held = keys.byKey(key)
    if (until === Number.NEGATIVE_INFINITY) {
      // The same end seen again, while catching up with the log, finds nothing to remove.
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
 * The live tokens of this instance in columns of typed arrays: less than a hundred bytes each, and nothing for the collector to walk.
 * Bounded: past `capacity` one that was not used for long is forgotten, and comes back when it is remembered again. So is one that may do
 * much, where what all of them may do takes more than `reachBytes`.
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
    /** Takes the newest row of a token: live tokens are kept, all others forgotten but for their number. */
    remember: remembering({ slots, ended, closed, deleted, end }),
    take: applyEvent(slots, end),
    /** How far the stream of a token that is held was followed here, and when the token ends; undefined where that is not known. */
    standing: (id: string): TokenStanding | undefined => {
      const slot = keys.byId(id)
      const at = slot === undefined ? MOST_REVISION : slots.revision(slot)
      if (slot === undefined || at === MOST_REVISION) return undefined
      const expires = columns.expires[slot]!
      return { at, ...(expires !== Number.POSITIVE_INFINITY && { expiresAt: new Date(expires).toISOString() }) }
    },
    /** The key of a digest text, to look up by. */
    keyOf,
    /** Epoch milliseconds at which the token ends (Infinity = never), or undefined when it is not in the index. */
    expiry: (key: string): number | undefined => {
      const slot = keys.byKey(key)
      if (slot === undefined) return undefined
      columns.referenced[slot] = 1
      return columns.expires[slot]
    },
    /** Whether a token is held now as it was found before: it has not ended, and may do the same. */
    isStill: (key: string, entry: TokenEntry, time: number): boolean => {
      const slot = keys.byKey(key)
      if (slot === undefined) return false
      columns.referenced[slot] = 1
      return time < columns.expires[slot]! && slots.hasReach(slot, entry)
    },
    /** The reach of a text, the object that tokens which are held share where some of them have it. */
    reachOf: slots.reachOf,
    /** True for a token that was revoked or cleaned up lately, as far as this instance knows. */
    ended: (key: string): boolean => ended.has(key),
    /** The id of a token whose stream cannot be read. */
    closed: closed.id,
    entry: (key: string): TokenEntry | undefined => {
      const slot = keys.byKey(key)
      return slot === undefined ? undefined : slots.entry(slot)
    },
    /** Takes the number of deleted tokens by method, all there are. */
    deletedBefore: (counts: ReadonlyMap<string, number>): void => {
      for (const [n, method] of METHODS.entries()) deleted[n] = counts.get(method) ?? 0
    },
    /** The static tokens that are not deleted which this credential has made, as far as this instance holds them. */
    made: slots.made,
    /** True for a live token that is not held for want of room, and for very few others: any else that is not found here does not exist. */
    mayBeEvicted: slots.mayBeEvicted,
    size: keys.size,
    /** About how many bytes of memory all takes that they may do. */
    reachBytes: slots.reachBytes,
    /** The bytes of memory that this may take at most. */
    mostReachBytes: slots.mostReachBytes,
    /** A copy of all that is held, made at once; undefined where it cannot be told. */
    copy: (): TokenSnapshot | undefined => slots.copy(deleted),
    /** Whether a copy holds no more tokens than so many. */
    fits: (from: TokenSnapshot, most: number): boolean => tokensIn(from) <= most,
    /** Takes a copy; nothing was held before. */
    restore: (from: TokenSnapshot): void => {
      slots.restore(from)
      for (const [n, count] of from.facts.deleted.entries()) deleted[n] = count
    },
    /** How many records there are of each method and status, as far as this instance holds them. */
    census: (now: number) => censusOf(columns, slots.size(), deleted, now),
  }
}

export type TokenIndex = ReturnType<typeof tokenIndex>

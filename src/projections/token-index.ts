import { LRUCache } from 'lru-cache'
import type { Stored } from '../events/log.ts'
import { type Method, METHODS } from '../events/token.ts'
import { forgottenDigests } from './forgotten-digests.ts'
import { closedTokens } from './closed-tokens.ts'
import { tokenMakers } from './issuer-tally.ts'
import { numberedTexts, tokenColumns } from './token-columns.ts'
import { hasKey, keyOf, tokenKeys } from './token-keys.ts'
import { usableUntil } from './token-status.ts'
import { type TokenDoc, tokens } from './tokens.ts'
import type { Row } from './views.ts'

/** What every request needs of a token: numbers and shared texts only. `expiresAt` is epoch milliseconds, Infinity = never. */
export type TokenEntry = {
  readonly id: string
  readonly method: Method
  readonly namespace: string | undefined
}

const HELD = ['digest', 'method', 'namespace', 'expiresAt', 'issuedBy'] as const
type HeldOfToken = Pick<TokenDoc, (typeof HELD)[number] | 'deletedAt'>

/** What the index needs of the tokens at a start: these fields of those that are not deleted, and the number of all others by method. */
export const neededOfTokens = { lacking: 'deletedAt', fields: HELD, by: 'method' } as const

/** Tokens that ended last, of which a read may not show it yet. */
const ENDED = 10_000

/** The new end of a token in epoch milliseconds; undefined where the event cannot be read, which is for its row to say. */
const endOf = (type: string, data: string): number | undefined => {
  try {
    const event = tokens.read(type, data)
    const to = event.type === 'TokenExpiryChanged' ? Date.parse(event.data.to) : Number.NaN
    return Number.isNaN(to) ? undefined : to
  } catch {
    return undefined
  }
}

/** Revisions are known below this one. */
const MOST_REVISION = 65_535n

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

/** The facts of tokens by slot, no more tokens than the capacity. */
const tokenSlots = (capacity: number) => {
  const { columns, take, giveBack, next, size } = tokenColumns()
  const keys = tokenKeys()
  const makers = tokenMakers()
  const namespaces = numberedTexts()
  const forgotten = forgottenDigests()

  const remove = (slot: number): void => {
    if (METHODS[columns.kinds[slot]!] === 'token') makers.remove(columns.madeBy[slot]!)
    keys.remove(slot)
    giveBack(slot)
  }
  return {
    columns,
    keys,
    madeBy: makers.count,
    /** How many slots there are, those that hold nothing included. */
    size,
    add: (key: string, id: string, doc: HeldOfToken): number => {
      if (keys.size() >= capacity) {
        const least = next()
        forgotten.add(keys.key(least))
        remove(least)
      }
      const slot = take()
      columns.used[slot] = 0
      keys.set(slot, key, id)
      columns.kinds[slot] = METHODS.indexOf(doc.method)
      columns.scopes[slot] = namespaces.numberOf(doc.namespace)
      if (doc.method === 'token') columns.madeBy[slot] = makers.add(doc.issuedBy)
      return slot
    },
    remove,
    /** One live token more that is not held. */
    leaveOut: forgotten.add,
    forgot: forgotten.has,
    entry: (slot: number): TokenEntry => ({
      id: keys.id(slot),
      method: METHODS[columns.kinds[slot]!]!,
      namespace: namespaces.text(columns.scopes[slot]!),
    }),
    revision: (slot: number): bigint => BigInt(columns.revisions[slot]!),
    setRevision: (slot: number, revision: bigint): void => {
      columns.revisions[slot] = Number(revision < MOST_REVISION ? revision : MOST_REVISION)
    },
  }
}

/**
 * The live tokens of this instance in columns of typed arrays: less than a hundred bytes each, and nothing for the collector to walk.
 * Bounded: past `capacity` one that was not used for long is forgotten, and comes back when it is remembered again.
 */
export const tokenIndex = (capacity: number) => {
  const slots = tokenSlots(capacity)
  const { columns, keys } = slots
  const ended = new LRUCache<string, true>({ max: ENDED })
  const closed = closedTokens()
  const deleted = METHODS.map(() => 0)

  const end = (slot: number): void => {
    ended.set(keys.key(slot), true)
    deleted[columns.kinds[slot]!]!++
    slots.remove(slot)
  }

  /** Takes a token out whose stream cannot be read, and remembers by its key which it is, so that its holder is told so. */
  const close = (id: string, digest: string | undefined): void => {
    const slot = keys.byId(id)
    const key = slot === undefined ? digest && keyOf(digest) : keys.key(slot)
    if (slot !== undefined) slots.remove(slot)
    if (key) closed.close(key, id)
  }
  return {
    /** Takes the newest row of a token: live tokens are kept, all others forgotten but for their number. */
    remember: ({ key: id, doc, revision, unreadable }: Row<HeldOfToken>): void => {
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
        ended.set(key, true)
      } else if (!hasKey(id)) slots.leaveOut(key)
      else if (held === undefined || revision >= slots.revision(held)) {
        const slot = held ?? slots.add(key, id, doc)
        columns.expires[slot] = until
        slots.setRevision(slot, revision)
      }
    },
    /**
     * Takes an event of a token that is held, without its row: what ended is forgotten, what ends earlier ends earlier. False where that
     * cannot be done: the token is not held, events before this one are missing, or it is not an event that ends anything.
     */
    take: ({ stream, type, revision, data }: Stored): boolean => {
      const slot = keys.byId(stream.slice(tokens.category.length + 1))
      if (slot === undefined) return false
      const known = slots.revision(slot)
      if (revision <= known) return true
      if (revision > known + 1n || known === MOST_REVISION) return false
      if (type === 'TokenRevoked' || type === 'TokenExpired') end(slot)
      else if (type === 'TokenExpiryChanged') {
        const to = endOf(type, data)
        if (to === undefined) return false
        columns.expires[slot] = to
        slots.setRevision(slot, revision)
      } else return false
      return true
    },
    /** The key of a digest text, to look up by. */
    keyOf,
    /** Epoch milliseconds at which the token ends (Infinity = never), or undefined when it is not in the index. */
    expiry: (key: string): number | undefined => {
      const slot = keys.byKey(key)
      if (slot === undefined) return undefined
      columns.used[slot] = 1
      return columns.expires[slot]
    },
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
    /** How many static tokens that are not deleted this credential has made, as far as this instance holds them. */
    madeBy: slots.madeBy,
    /** True for a live token that is not held for want of room, and for very few others: any else that is not found here does not exist. */
    forgot: slots.forgot,
    size: keys.size,
    /** How many records there are of each method and status, as far as this instance holds them. */
    census: (now: number) => censusOf(columns, slots.size(), deleted, now),
  }
}

export type TokenIndex = ReturnType<typeof tokenIndex>

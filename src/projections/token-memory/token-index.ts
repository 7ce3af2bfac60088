import { LRUCache } from 'lru-cache'
import type { Reach } from '../../access/reach.ts'
import type { Stored } from '../../events/log.ts'
import { METHODS, type Method, type TokenEvent } from '../../events/token.ts'
import { usableUntil } from '../token-status.ts'
import { grantedReach, tokens } from '../tokens.ts'
import type { Row } from '../views.ts'
import {
  bloomFilter,
  boundedTokens,
  FIELDS,
  type FieldsOfToken,
  loadTokens,
  savedTokens,
  type TokenParts,
  type TokenSnapshot,
  tokensIn,
} from './eviction.ts'
import { issuerCounts, reachPool, reachTextOf } from './reach-pool.ts'
import { isUuid, keyOf, tokenTable } from './table.ts'

/** One more than the highest revision that can be stored. */
const MOST_REVISION = 65_535n

/** Memory of tokens that rows and events change. */
type TokenMemory = Pick<TokenParts, 'table' | 'reaches' | 'evicted'> & {
  readonly bounded: ReturnType<typeof boundedTokens>
  /** Keys of recently ended tokens. */
  readonly ended: LRUCache<string, true>
  /** Ids of unreadable tokens by key. */
  readonly quarantined: Map<string, string>
  /** Number of deleted tokens by method. */
  readonly deleted: number[]
}

const setRevision = ({ columns }: TokenParts['table'], slot: number, revision: bigint): void => {
  columns.revisions[slot] = Number(revision < MOST_REVISION ? revision : MOST_REVISION)
}

/** Ends a token in memory. */
const end = ({ table, bounded, ended, deleted }: TokenMemory, slot: number): void => {
  ended.set(table.key(slot), true)
  deleted[table.columns.kinds[slot]!]!++
  bounded.remove(slot)
}

/**
 * Removes a token whose stream is unreadable, and remembers its id by its key, so that its holder gets
 * `event_unreadable`.
 */
const quarantine = ({ table, bounded, quarantined }: TokenMemory, id: string, digest: string | undefined): void => {
  const slot = table.byId(id)
  const key = slot === undefined ? digest && keyOf(digest) : table.key(slot)
  if (slot !== undefined) bounded.remove(slot)
  if (key) quarantined.set(key, id)
}

/** Removes a token from the unreadable ones. Returns its key if it was unreadable. */
const released = (quarantined: Map<string, string>, id: string): string | undefined => {
  for (const [key, of] of quarantined) {
    if (of !== id) continue
    quarantined.delete(key)
    return key
  }
  return undefined
}

/** Applies the newest row of a token. An active token is stored; of all others only the number is counted. */
const rememberRow =
  (memory: TokenMemory) =>
  ({ key: id, doc, revision, unreadable }: Row<FieldsOfToken>): void => {
    const { table, bounded, evicted, ended, quarantined, deleted } = memory
    if (unreadable) return quarantine(memory, id, unreadable.before?.digest ?? unreadable.clue)
    const known = released(quarantined, id)
    // A row without a document belongs to a token that has ended.
    if (known && !doc) ended.set(known, true)
    if (!doc) return
    const key = keyOf(doc.digest)
    const until = usableUntil(doc)
    const held = table.byKey(key)
    if (until === Number.NEGATIVE_INFINITY) {
      // An event that ends a token twice, while memory catches up with the log, has no further effect.
      if (held !== undefined) end(memory, held)
      else if (evicted.has(key) && !ended.has(key)) deleted[METHODS.indexOf(doc.method)]!++
      ended.set(key, true)
    } else if (!isUuid(id)) evicted.add(key)
    else if (held === undefined || revision >= table.columns.revisions[held]!) {
      const slot = held ?? bounded.add(key, id, doc)
      table.columns.expires[slot] = until
      if (held !== undefined) bounded.setReach(slot, reachTextOf(doc), doc.policy)
      setRevision(table, slot, revision)
    }
  }

/** Reads the event; undefined if it is unreadable, which the row of the token handles. */
const readable = (type: string, data: string): TokenEvent | undefined => {
  try {
    return tokens.read(type, data)
  } catch {
    return undefined
  }
}

/** Shortens the expiry or narrows the grants of a token in memory. The result is false for other events. */
const restrict = (
  { table: { columns }, reaches, bounded }: TokenMemory,
  slot: number,
  { type, data }: TokenEvent,
): boolean => {
  if (type === 'TokenExpiryChanged') {
    const to = Date.parse(data.to)
    if (Number.isNaN(to)) return false
    columns.expires[slot] = to
    return true
  }
  if (type !== 'TokenGrantsNarrowed') return false
  const { namespace } = reaches.reach(columns.reaches[slot]!)
  bounded.setReach(slot, grantedReach({ method: METHODS[columns.kinds[slot]!]!, namespace, ...data.to }), data.policy)
  return true
}

/**
 * Applies an event to a token in memory without its row. An ended token is removed; an earlier expiry or narrower
 * grants take effect immediately. Returns false if the row is needed. The row is needed if the token is not in memory,
 * earlier events are missing, the event does not restrict the token, or the token should have ended already.
 */
const applyEvent =
  (memory: TokenMemory) =>
  ({ stream, type, revision, data }: Stored): boolean => {
    const { table } = memory
    const slot = table.byId(stream.slice(tokens.category.length + 1))
    if (slot === undefined) return false
    const known = BigInt(table.columns.revisions[slot]!)
    const ends = tokens.ends?.has(type as TokenEvent['type']) === true
    if (revision <= known) return !ends
    if (revision > known + 1n || known === MOST_REVISION) return false
    if (ends) {
      end(memory, slot)
      return true
    }
    const event = readable(type, data)
    if (!event || !restrict(memory, slot, event)) return false
    setRevision(table, slot, revision)
    return true
  }

/** Number of recently ended tokens that are remembered, because the views may still contain them as live. */
const ENDED = 10_000

/** Default maximum memory of all sets of rights in bytes. */
const REACH_BYTES = 32 * 1_048_576

/** Facts of a token that every request needs: numbers and shared texts only. */
export type TokenEntry = {
  readonly id: string
  readonly method: Method
  readonly namespace: string | undefined
  /** Rights of the token. Tokens with equal rights share the object. */
  readonly reach: Reach
  /** Access configuration of its grants: a revision of `access-main`. */
  readonly policy: number | undefined
}

/**
 * Result of a lookup. `evicted`: the token may be live, but is not in memory; this holds for every evicted token and
 * rarely for others. `unknown`: the token does not exist, provided that memory has all events.
 */
export type FoundToken = {
  readonly state: 'live' | 'quarantined' | 'ended' | 'evicted' | 'unknown'
  /** Id of a live or an unreadable token. */
  readonly id?: string
  /** Entry of an active token, and its expiry in epoch ms (Infinity = never). */
  readonly entry?: TokenEntry
  readonly expiresAt?: number
}

/** Revision of the last event of an active token, and its expiry. */
export type TokenStanding = { readonly at: bigint; readonly expiresAt?: string }

/** Number of records by method and status. */
const censusOf = ({ columns, slots }: TokenParts['table'], deleted: readonly number[], now: number) => {
  const counts = METHODS.map((method, n) => ({ method, ACTIVE: 0, EXPIRED: 0, DELETED: deleted[n]! }))
  for (let slot = 0; slot < slots(); slot++) {
    const ends = columns.expires[slot]!
    if (ends > now) counts[columns.kinds[slot]!]!.ACTIVE++
    else if (ends <= now) counts[columns.kinds[slot]!]!.EXPIRED++
  }
  return counts
}

/** Entry of the token in a row. */
const entryOf = ({ table: { columns, id }, reaches }: TokenParts, slot: number): TokenEntry => {
  const reach = reaches.reach(columns.reaches[slot]!)
  const policy = columns.policies[slot]!
  const method = METHODS[columns.kinds[slot]!]!
  return { id: id(slot), method, namespace: reach.namespace, reach, policy: policy === 0 ? undefined : policy - 1 }
}

/** Last received revision of a token in memory, and its expiry; undefined if unknown. */
const standingOf =
  ({ columns, byId }: TokenParts['table']) =>
  (id: string): TokenStanding | undefined => {
    const slot = byId(id)
    const at = slot === undefined ? MOST_REVISION : BigInt(columns.revisions[slot]!)
    if (slot === undefined || at === MOST_REVISION) return undefined
    const expires = columns.expires[slot]!
    return { at, ...(expires !== Number.POSITIVE_INFINITY && { expiresAt: new Date(expires).toISOString() }) }
  }

/**
 * Index of the active tokens of this instance. The index consists of columns of typed arrays, which take less than 100
 * bytes per token and no work of the garbage collector. Beyond `capacity` tokens or `reachBytes` bytes of rights,
 * tokens are evicted; an evicted token returns when its row is remembered again.
 */
export const tokenIndex = (capacity: number, reachBytes = REACH_BYTES) => {
  const [table, reaches, issuers, evicted] = [tokenTable(), reachPool(), issuerCounts(), bloomFilter()]
  const parts = { table, reaches, issuers, evicted }
  const bounded = boundedTokens(parts, capacity, reachBytes)
  const ended = new LRUCache<string, true>({ max: ENDED })
  const quarantined = new Map<string, string>()
  const deleted = METHODS.map(() => 0)
  const memory = { ...parts, bounded, ended, quarantined, deleted }
  const { columns } = table

  return {
    /** Key of a digest, for lookups. */
    keyOf,
    /** Finds the token of a key, and counts as its use. */
    find: (key: string): FoundToken => {
      if (ended.has(key)) return { state: 'ended' }
      const slot = table.byKey(key)
      if (slot !== undefined) {
        columns.referenced[slot] = 1
        const entry = entryOf(parts, slot)
        return { state: 'live', id: entry.id, entry, expiresAt: columns.expires[slot]! }
      }
      const id = quarantined.get(key)
      if (id !== undefined) return { state: 'quarantined', id }
      return { state: evicted.has(key) ? 'evicted' : 'unknown' }
    },
    /** True if a token is unchanged since `entry` was read: it has not ended, and has the same rights. */
    stillValid: (key: string, entry: TokenEntry, time: number): boolean => {
      const slot = table.byKey(key)
      if (slot === undefined) return false
      columns.referenced[slot] = 1
      return (
        time < columns.expires[slot]! &&
        reaches.reach(columns.reaches[slot]!) === entry.reach &&
        columns.policies[slot] === (entry.policy ?? -1) + 1
      )
    },
    /** Entry of an active token by its id, if memory has it and it is valid at `time`. */
    entryById: (id: string, time: number): TokenEntry | undefined => {
      const slot = table.byId(id)
      if (slot === undefined || time >= columns.expires[slot]!) return undefined
      columns.referenced[slot] = 1
      return entryOf(parts, slot)
    },
    /** The rights of a record; the shared object if a token in memory has it. */
    reachOf: (doc: Pick<FieldsOfToken, 'namespace' | 'reach'>): Reach => reaches.of(reachTextOf(doc)),
    standing: standingOf(table),
    /** Active static tokens that this credential has created, among those in memory. */
    countIssuedBy: issuers.issuedBy,
    /** Applies the newest row of a token. Stores an active token, and counts all others. */
    remember: rememberRow(memory),
    /** Applies an event to a token without its row in the read model. Returns false if the row is needed. */
    apply: applyEvent(memory),
    /** Data to load at startup: fields of tokens that are not deleted, and the number of deleted tokens by method. */
    needs: {
      lacking: 'deletedAt',
      fields: FIELDS,
      by: 'method',
      others: (counts: ReadonlyMap<string, number>): void => {
        for (const [n, method] of METHODS.entries()) deleted[n] = counts.get(method) ?? 0
      },
    },
    size: table.size,
    /** Approximate memory of all sets of rights in bytes, and its maximum. */
    reachBytes: reaches.bytes,
    mostReachBytes: reachBytes,
    /** Number of records by method and status, on this instance. */
    census: (now: number) => censusOf(table, deleted, now),
    /** Copies the memory synchronously; undefined after an overflow of the Bloom filter. */
    save: (): TokenSnapshot | undefined => savedTokens(parts, deleted),
    /** True if a snapshot has no more tokens than fit. */
    fits: (from: TokenSnapshot): boolean => tokensIn(from) <= capacity,
    /** Restores a snapshot into empty memory. */
    load: (from: TokenSnapshot): void => {
      loadTokens(parts, from)
      bounded.fitReaches()
      for (const [n, count] of from.facts.deleted.entries()) deleted[n] = count
    },
  }
}

export type TokenIndex = ReturnType<typeof tokenIndex>

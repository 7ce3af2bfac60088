import type { LRUCache } from 'lru-cache'
import type { Stored } from '../../events/log.ts'
import { METHODS, type TokenEvent } from '../../events/token.ts'
import { usableUntil } from '../token-status.ts'
import { grantedReach, tokens } from '../tokens.ts'
import type { Row } from '../views.ts'
import type { boundedTokens, FieldsOfToken, TokenParts } from './eviction.ts'
import { reachTextOf } from './reach-pool.ts'
import { isUuid, keyOf } from './table.ts'

/** One more than the highest revision that can be stored. */
export const MOST_REVISION = 65_535n

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
export const rememberRow =
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
export const applyEvent =
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

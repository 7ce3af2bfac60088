import type { Reach } from '../../access/reach.ts'
import { METHODS, type Method } from '../../events/token.ts'
import type { TokenDoc } from '../tokens.ts'
import { bloomFilter } from './bloom-filter.ts'
import { tokenEviction } from './eviction.ts'
import { reachPool, reachTextOf } from './reach-pool.ts'
import { tokenColumns } from './token-columns.ts'
import { tokenKeys } from './token-keys.ts'
import { tokenMakers } from './token-makers.ts'
import { restoreTokens, type TokenSnapshot, tokenSnapshot } from './token-snapshot.ts'

/** Facts of a token that every request needs: numbers and shared texts only. */
export type TokenEntry = {
  readonly id: string
  readonly method: Method
  readonly namespace: string | undefined
  /** Reach of the token. Tokens with equal reaches share the object. */
  readonly reach: Reach
  /** Access configuration of its grants: a revision of `access-main`. */
  readonly policy: number | undefined
}

/**
 * A token in use by requests. `judged`: latest access configuration that is known to remove nothing more from it; for a
 * static token, the maximum.
 */
export type TokenInUse = TokenEntry & { judged: number }

const HELD = ['digest', 'method', 'namespace', 'expiresAt', 'issuedBy', 'reach', 'policy'] as const
export type HeldOfToken = Pick<TokenDoc, (typeof HELD)[number] | 'deletedAt'>

/**
 * Data that the index needs at startup: these fields of tokens that are not deleted, and the number of deleted tokens
 * by method.
 */
export const neededOfTokens = { lacking: 'deletedAt', fields: HELD, by: 'method' } as const

/** Exclusive maximum of known revisions. */
export const MOST_REVISION = 65_535n

/** Default maximum memory of all reaches in bytes. */
const REACH_BYTES = 32 * 1_048_576

/** Facts of tokens by slot, limited to `capacity` tokens and `reachBytes` bytes of reaches. */
export const tokenSlots = (capacity: number, reachBytes = REACH_BYTES) => {
  const all = tokenColumns()
  const { columns, take, size } = all
  const keys = tokenKeys()
  const makers = tokenMakers()
  const reaches = reachPool()
  const evicted = bloomFilter()
  const held = { columns: all, keys, makers, reaches, evicted }
  const { isStatic, remove, forget, fitReaches } = tokenEviction(held, reachBytes)

  /** Value of the policy column for an access configuration. */
  const numberOf = (policy: number | undefined): number => (policy === undefined ? 0 : policy + 1)

  /** Sets the reach and the access configuration of a token. */
  const setReach = (slot: number, text: string, policy: number | undefined): void => {
    const before = columns.reaches[slot]!
    const after = reaches.add(text)
    if (isStatic(slot)) makers.change(columns.madeBy[slot]!, reaches.length(before), reaches.length(after))
    columns.reaches[slot] = after
    columns.policies[slot] = numberOf(policy)
    reaches.remove(before)
    fitReaches(slot)
  }
  return {
    columns,
    keys,
    copy: (deleted: readonly number[]) => tokenSnapshot(held, deleted),
    restore: (from: TokenSnapshot): void => {
      restoreTokens(held, from)
      fitReaches()
    },
    made: makers.made,
    reachBytes: reaches.bytes,
    mostReachBytes: reachBytes,
    /** Number of slots, including free ones. */
    size,
    add: (key: string, id: string, doc: HeldOfToken): number => {
      if (keys.size() >= capacity) forget()
      const slot = take()
      columns.referenced[slot] = 0
      keys.set(slot, key, id)
      columns.kinds[slot] = METHODS.indexOf(doc.method)
      const reach = reaches.add(reachTextOf(doc))
      columns.reaches[slot] = reach
      columns.policies[slot] = numberOf(doc.policy)
      if (doc.method === 'token') columns.madeBy[slot] = makers.add(doc.issuedBy, reaches.length(reach))
      fitReaches(slot)
      return slot
    },
    remove,
    /** Records a live token that is not in memory. */
    addEvicted: evicted.add,
    mayBeEvicted: evicted.has,
    entry: (slot: number): TokenEntry => {
      const reach = reaches.reach(columns.reaches[slot]!)
      const policy = columns.policies[slot]! || undefined
      const method = METHODS[columns.kinds[slot]!]!
      return { id: keys.id(slot), method, namespace: reach.namespace, reach, policy: policy && policy - 1 }
    },
    setReach,
    reach: (slot: number): Reach => reaches.reach(columns.reaches[slot]!),
    reachOf: reaches.of,
    /** True if a token has this reach and this access configuration. */
    hasReach: (slot: number, { reach, policy }: Pick<TokenEntry, 'reach' | 'policy'>): boolean =>
      reaches.reach(columns.reaches[slot]!) === reach && columns.policies[slot] === numberOf(policy),
    revision: (slot: number): bigint => BigInt(columns.revisions[slot]!),
    setRevision: (slot: number, revision: bigint): void => {
      columns.revisions[slot] = Number(revision < MOST_REVISION ? revision : MOST_REVISION)
    },
  }
}

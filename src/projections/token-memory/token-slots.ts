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

/** What every request needs of a token: numbers and shared texts only. `expiresAt` is epoch milliseconds, Infinity = never. */
export type TokenEntry = {
  readonly id: string
  readonly method: Method
  readonly namespace: string | undefined
  /** What it may do; tokens with the same reach share the object. */
  readonly reach: Reach
  /** The configuration of access that its grants are of: a revision of `access-main`. */
  readonly policy: number | undefined
}

/** A token that requests come with. `judged`: the latest configuration of access that is known here to take nothing more from it; of a static token every one there may be. */
export type TokenInUse = TokenEntry & { judged: number }

const HELD = ['digest', 'method', 'namespace', 'expiresAt', 'issuedBy', 'reach', 'policy'] as const
export type HeldOfToken = Pick<TokenDoc, (typeof HELD)[number] | 'deletedAt'>

/** What the index needs of the tokens at a start: these fields of those that are not deleted, and the number of all others by method. */
export const neededOfTokens = { lacking: 'deletedAt', fields: HELD, by: 'method' } as const

/** Revisions are known below this one. */
export const MOST_REVISION = 65_535n

/** What tokens may do takes no more memory than so many bytes. */
const REACH_BYTES = 32 * 1_048_576

/** The facts of tokens by slot, no more tokens than the capacity, and of what they may do no more bytes than that. */
export const tokenSlots = (capacity: number, reachBytes = REACH_BYTES) => {
  const all = tokenColumns()
  const { columns, take, size } = all
  const keys = tokenKeys()
  const makers = tokenMakers()
  const reaches = reachPool()
  const evicted = bloomFilter()
  const held = { columns: all, keys, makers, reaches, evicted }
  const { isStatic, remove, forget, fitReaches } = tokenEviction(held, reachBytes)

  /** The configuration that a token's grants are of, as its column has it. */
  const numberOf = (policy: number | undefined): number => (policy === undefined ? 0 : policy + 1)

  /** Gives a token the reach of a text, under a configuration of access. */
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
    /** How many slots there are, those that hold nothing included. */
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
    /** One live token more that is not held. */
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
    /** Whether a token has this reach, under this configuration of access. */
    hasReach: (slot: number, { reach, policy }: Pick<TokenEntry, 'reach' | 'policy'>): boolean =>
      reaches.reach(columns.reaches[slot]!) === reach && columns.policies[slot] === numberOf(policy),
    revision: (slot: number): bigint => BigInt(columns.revisions[slot]!),
    setRevision: (slot: number, revision: bigint): void => {
      columns.revisions[slot] = Number(revision < MOST_REVISION ? revision : MOST_REVISION)
    },
  }
}

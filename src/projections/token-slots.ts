import type { Reach } from '../access/reach.ts'
import { type Method, METHODS } from '../events/token.ts'
import { countedTexts } from './counted-texts.ts'
import { forgottenDigests } from './forgotten-digests.ts'
import { reachTextOf, sharedReaches } from './shared-reaches.ts'
import { tokenColumns } from './token-columns.ts'
import { tokenKeys } from './token-keys.ts'
import { restoreTokens, type TokenSnapshot, tokenSnapshot } from './token-snapshot.ts'
import type { TokenDoc } from './tokens.ts'

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

/** The facts of tokens by slot, no more tokens than the capacity. */
export const tokenSlots = (capacity: number) => {
  const all = tokenColumns()
  const { columns, take, giveBack, next, size } = all
  const keys = tokenKeys()
  const makers = countedTexts()
  const reaches = sharedReaches()
  const forgotten = forgottenDigests()

  const remove = (slot: number): void => {
    if (METHODS[columns.kinds[slot]!] === 'token') makers.remove(columns.madeBy[slot]!)
    reaches.remove(columns.reaches[slot]!)
    keys.remove(slot)
    giveBack(slot)
  }
  /** The configuration that a token's grants are of, as its column has it. */
  const numberOf = (policy: number | undefined): number => (policy === undefined ? 0 : policy + 1)

  /** Gives a token the reach of a text, under a configuration of access. */
  const setReach = (slot: number, text: string, policy: number | undefined): void => {
    const before = columns.reaches[slot]!
    columns.reaches[slot] = reaches.add(text)
    columns.policies[slot] = numberOf(policy)
    reaches.remove(before)
  }
  const held = { columns: all, keys, makers, reaches, forgotten }
  return {
    columns,
    keys,
    copy: (deleted: readonly number[]) => tokenSnapshot(held, deleted),
    restore: (from: TokenSnapshot): void => restoreTokens(held, from),
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
      columns.reaches[slot] = reaches.add(reachTextOf(doc))
      columns.policies[slot] = numberOf(doc.policy)
      if (doc.method === 'token') columns.madeBy[slot] = makers.add(doc.issuedBy)
      return slot
    },
    remove,
    /** One live token more that is not held. */
    leaveOut: forgotten.add,
    forgot: forgotten.has,
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

import { type Reach, reachOf } from '../access/reach.ts'
import { type Method, METHODS } from '../events/token.ts'
import { forgottenDigests } from './forgotten-digests.ts'
import { tokenMakers } from './issuer-tally.ts'
import { numberedTexts, tokenColumns } from './token-columns.ts'
import { tokenKeys } from './token-keys.ts'
import { restoreTokens, type TokenSnapshot, tokenSnapshot } from './token-snapshot.ts'
import type { TokenDoc } from './tokens.ts'

/** What every request needs of a token: numbers and shared texts only. `expiresAt` is epoch milliseconds, Infinity = never. */
export type TokenEntry = {
  readonly id: string
  readonly method: Method
  readonly namespace: string | undefined
  readonly reach: Reach
}

const HELD = ['digest', 'method', 'namespace', 'expiresAt', 'issuedBy'] as const
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
  const makers = tokenMakers()
  const namespaces = numberedTexts()
  const forgotten = forgottenDigests()

  const remove = (slot: number): void => {
    if (METHODS[columns.kinds[slot]!] === 'token') makers.remove(columns.madeBy[slot]!)
    keys.remove(slot)
    giveBack(slot)
  }
  const held = { columns: all, keys, makers, namespaces, forgotten }
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
      columns.scopes[slot] = namespaces.numberOf(doc.namespace)
      if (doc.method === 'token') columns.madeBy[slot] = makers.add(doc.issuedBy)
      return slot
    },
    remove,
    /** One live token more that is not held. */
    leaveOut: forgotten.add,
    forgot: forgotten.has,
    entry: (slot: number): TokenEntry => {
      const method = METHODS[columns.kinds[slot]!]!
      const namespace = namespaces.text(columns.scopes[slot]!)
      return { id: keys.id(slot), method, namespace, reach: reachOf({ namespace }, method !== 'token') }
    },
    revision: (slot: number): bigint => BigInt(columns.revisions[slot]!),
    setRevision: (slot: number, revision: bigint): void => {
      columns.revisions[slot] = Number(revision < MOST_REVISION ? revision : MOST_REVISION)
    },
  }
}

import { LRUCache } from 'lru-cache'
import { type Method, METHODS } from '../events/token.ts'
import { tokenMakers } from './issuer-tally.ts'
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
  const free: number[] = []
  let size = 0
  let room = 1024
  let expires = new Float64Array(room)
  let kinds = new Uint8Array(room)
  let scopes = new Uint32Array(room)
  let ids = new Uint8Array(room * 16)
  /** Of a static token, the number of its maker. */
  let madeBy = new Uint32Array(room)
  const makers = tokenMakers()
  const namespaces: (string | undefined)[] = [undefined]
  const namespaceNumbers = new Map<string, number>()
  const ended = new LRUCache<string, true>({ max: ENDED })
  let forgotten = 0
  const deleted = METHODS.map(() => 0)

  const grow = () => {
    room *= 2
    const [oldExpires, oldKinds, oldScopes, oldIds, oldMadeBy] = [expires, kinds, scopes, ids, madeBy]
    expires = new Float64Array(room)
    expires.set(oldExpires)
    kinds = new Uint8Array(room)
    kinds.set(oldKinds)
    scopes = new Uint32Array(room)
    scopes.set(oldScopes)
    ids = new Uint8Array(room * 16)
    ids.set(oldIds)
    madeBy = new Uint32Array(room)
    madeBy.set(oldMadeBy)
  }
  const numberOf = (namespace: string | undefined): number => {
    if (namespace === undefined) return 0
    const known = namespaceNumbers.get(namespace)
    if (known !== undefined) return known
    namespaceNumbers.set(namespace, namespaces.length)
    return namespaces.push(namespace) - 1
  }
  const remove = (key: string): boolean => {
    const slot = slots.get(key)
    if (slot === undefined) return false
    slots.delete(key)
    free.push(slot)
    if (METHODS[kinds[slot]!] === 'token') makers.remove(madeBy[slot]!)
    expires[slot] = Number.NaN
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
        slot = free.pop() ?? size++
        if (slot >= room) grow()
        slots.set(key, slot)
        kinds[slot] = METHODS.indexOf(doc.method)
        scopes[slot] = numberOf(doc.namespace)
        if (doc.method === 'token') madeBy[slot] = makers.add(doc.issuedBy)
        ids.set(Buffer.from(doc.id.replaceAll('-', ''), 'hex'), slot * 16)
      }
      expires[slot] = until
    },
    /** The key of a digest text, to look up by. */
    keyOf,
    /** Epoch milliseconds at which the token ends (Infinity = never), or undefined when it is not in the index. */
    expiry: (key: string): number | undefined => {
      const slot = slots.get(key)
      return slot === undefined ? undefined : expires[slot]
    },
    /** True for a token that was revoked or cleaned up lately, as far as this instance knows. */
    ended: (key: string): boolean => ended.has(key),
    entry: (key: string): TokenEntry | undefined => {
      const slot = slots.get(key)
      if (slot === undefined) return undefined
      const hex = Buffer.from(ids.buffer, slot * 16, 16).toString('hex')
      const id = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
      return { id, method: METHODS[kinds[slot]!]!, namespace: namespaces[scopes[slot]!] }
    },
    /** How many static tokens that are not deleted this credential has made, as far as this instance holds them. */
    madeBy: makers.count,
    /** True while every live token is in the index, so that a token not found here does not exist. */
    complete: (): boolean => forgotten === 0,
    size: (): number => slots.size,
    /** How many records there are of each method and status, as far as this instance holds them. */
    census: (now: number) => {
      const counts = METHODS.map((method, n) => ({ method, ACTIVE: 0, EXPIRED: 0, DELETED: deleted[n]! }))
      for (let slot = 0; slot < size; slot++) {
        const ends = expires[slot]!
        if (ends > now) counts[kinds[slot]!]!.ACTIVE++
        else if (ends <= now) counts[kinds[slot]!]!.EXPIRED++
      }
      return counts
    },
  }
}

export type TokenIndex = ReturnType<typeof tokenIndex>

import { hash } from 'node:crypto'
import { common } from '../../access/reach.ts'
import { rowNow } from '../../as-of/as-of.ts'
import { sharedCalls } from '../../base/concurrency.ts'
import { refuse } from '../../base/errors.ts'
import type { EventLog } from '../../events/log.ts'
import { readable } from '../../projections/projection.ts'
import type { FoundToken, TokenIndex } from '../../projections/token-memory/token-index.ts'
import { usableUntil } from '../../projections/token-status.ts'
import { tokens } from '../../projections/tokens.ts'
import type { View, Views } from '../../projections/views.ts'
import type { Looked, TokenInUse, TokenVerifier } from '../services/auth.ts'
import { idsByDigest } from './token-records.ts'

/**
 * Greater than the number of any access configuration. V8 stores this number, like the numbers of configurations, as a
 * small integer (31 bits).
 */
const ANY_POLICY = 2 ** 30 - 1

const MOST = 65_536
/** Maximum total number of namespaces in which the cached tokens have rights. */
const MOST_PLACES = 4 * MOST

/** A valid token: its key in the index, its entry, and its expiry in epoch ms. */
type CachedToken = { readonly key: string; readonly entry: TokenInUse; readonly expiresAt: number }

/**
 * FIFO cache of valid tokens, by the digest of their secret. Bounded by the number of tokens and by the total number of
 * namespaces in which they have rights.
 */
export const tokenCache = (most = MOST, mostPlaces = MOST_PLACES) => {
  const tokens = new Map<string, CachedToken>()
  let places = 0
  const isFull = (): boolean => tokens.size > most || (places > mostPlaces && tokens.size > 1)
  const remove = (digest: string): void => {
    places -= tokens.get(digest)?.entry.reach.places.size ?? 0
    tokens.delete(digest)
  }
  return {
    get: (digest: string): CachedToken | undefined => tokens.get(digest),
    put: (digest: string, token: CachedToken): TokenInUse => {
      remove(digest)
      tokens.set(digest, token)
      places += token.entry.reach.places.size
      while (isFull()) remove(tokens.keys().next().value!)
      return token.entry
    },
  }
}

/** State of a token, and its id; an undefined id means that there is no live token. */
type Located = { readonly state: FoundToken['state']; readonly id?: string | undefined }

/** Timeout in ms for memory, and then for the view, to reach the newest event before an unknown token is judged. */
const CATCH_UP_MS = 250

type TokenVerifierOptions = {
  readonly index: TokenIndex
  readonly digest: (secret: string) => string
  readonly plausible: (secret: string) => boolean
  readonly log: EventLog
  readonly views: Views
  readonly now: () => Date
  /** True if no other instance writes, so the index contains every acknowledged event. */
  readonly alone: boolean
  /** Position of the newest event, from a read that starts after the call; undefined if it cannot be read in time. */
  readonly newest: () => Promise<bigint | undefined>
  /** Resolves to true once the index contains every event up to the position, to false after `withinMs` ms. */
  readonly seen: (position: bigint, withinMs: number) => Promise<boolean>
  /** Like `seen`, for the rows of a view. */
  readonly viewsReached: (view: View, position: bigint, withinMs: number) => Promise<boolean>
}

/** Locates tokens that the index does not contain. */
const tokenLocator = ({ index, views, alone, newest, seen, viewsReached }: TokenVerifierOptions) => {
  const viewHas = sharedCalls<boolean>()
  const idInView = idsByDigest(views)

  /**
   * Finds a token that the index did not return, in index or view. Its absence is a result only where all events up to
   * the newest one are contained: of the index after a wait, else of the view, else of the index after the view.
   */
  const foundLater = async (key: string, digested: string): Promise<Located> => {
    const position = await newest()
    for (const withinMs of [CATCH_UP_MS, 0]) {
      const isWhole = position !== undefined && (await seen(position, withinMs))
      const found = index.find(key)
      if (found.state === 'unknown' ? isWhole : found.state !== 'evicted') return found
      if (position === undefined || withinMs === 0) continue
      const isViewWhole = await viewHas(String(position), () => viewsReached(tokens, position, withinMs))
      const id = await idInView(digested)
      if (id !== undefined || isViewWhole) return { state: 'unknown', id }
    }
    return refuse('auth_stale')
  }

  return async (state: Located['state'], key: string, digested: string): Promise<Located> => {
    if (alone && state === 'unknown') return { state }
    const id = state === 'evicted' ? await idInView(digested) : undefined
    return id === undefined ? foundLater(key, digested) : { state, id }
  }
}

/**
 * Index and view only locate the stream of a token; on first use that stream decides, so write access to a read model
 * grants nothing. Later lookups use a SHA-256 cache in memory, and the index, which follows the log, reports expiry and
 * reduced rights. The view is searched only for tokens that the index may have evicted or not yet received. A token
 * that neither may have received yet is refused with 503 `auth_stale`.
 */
export const tokenVerifier = (options: TokenVerifierOptions): TokenVerifier => {
  const { index, digest, plausible, log, newest, now } = options
  const cache = tokenCache()
  const locate = tokenLocator(options)

  /**
   * The row of a stream that the log did not have. Refuses with `auth_stale` if the node that was read may be behind;
   * else an absent stream is a result, because a row of a read model without a stream is forged.
   */
  const rowLater = async (id: string) => {
    const position = await newest()
    if (position === undefined || (await log.head()) < position) refuse('auth_stale')
    return rowNow(log, tokens, id)
  }

  /**
   * The token according to the log, if valid now and, where a digest is given, of that digest. The index may already
   * contain its end, or its reduced rights, before the stream read here shows it. An unreadable token is refused with
   * 503 `event_unreadable`.
   */
  const fromLog = async (id: string, digested?: string) => {
    const row = (await rowNow(log, tokens, id)) ?? (await rowLater(id))
    const doc = readable(row)?.doc
    if (!row || !doc || (digested ?? doc.digest) !== doc.digest) return undefined
    const key = index.keyOf(doc.digest)
    const before = index.find(key)
    if (before.state === 'ended') return undefined
    const expiresAt = Math.min(usableUntil(doc), before.expiresAt ?? Number.POSITIVE_INFINITY)
    if (now().getTime() >= expiresAt) return undefined
    // A token that was evicted from the index is in use again.
    index.remember(row)
    const { method, namespace, policy } = doc
    const judged = method === 'token' ? ANY_POLICY : (policy ?? -1)
    const recorded = index.reachOf(doc)
    const reach = common(recorded, index.find(key).entry?.reach ?? recorded)
    return { key, entry: { id, method, namespace, reach, policy, judged }, expiresAt }
  }

  const look = async (secret: string): Promise<Looked> => {
    if (!plausible(secret)) return { isOurs: false }
    const digested = digest(secret)
    const key = index.keyOf(digested)
    // The end of a token is final, so its stream is not read.
    const held = index.find(key)
    if (held.state === 'ended') return { isOurs: true }
    // For a token that was valid here and has ended, the stream decides; the view is not searched on each request.
    const known = held.id ?? cache.get(hash('sha256', secret, 'binary'))?.entry.id
    const { state, id } = known === undefined ? await locate(held.state, key, digested) : { ...held, id: known }
    if (id === undefined) return { isOurs: state === 'ended' }
    const found = await fromLog(id, digested)
    return { isOurs: true, ...(found && { entry: cache.put(hash('sha256', secret, 'binary'), found) }) }
  }

  const validIn = (seen: CachedToken | undefined, time: number): TokenInUse | undefined =>
    seen && time < seen.expiresAt && index.stillValid(seen.key, seen.entry, time) ? seen.entry : undefined

  return {
    cached: (secret: string, time = now().getTime()): TokenInUse | undefined =>
      validIn(cache.get(hash('sha256', secret, 'binary')), time),
    /** Returns the entry of a valid token by its id, from the cache if possible; undefined for all other ids. */
    byId: (id: string): TokenInUse | undefined | Promise<TokenInUse | undefined> => {
      const known = validIn(cache.get(id), now().getTime())
      return known ?? fromLog(id).then((found) => found && cache.put(id, found))
    },
    idBefore: (secret: string): string | undefined => cache.get(hash('sha256', secret, 'binary'))?.entry.id,
    /** Returns the entry of a valid token; undefined for all other texts. */
    verify: async (secret: string): Promise<TokenInUse | undefined> => (await look(secret)).entry,
    /** Like `verify`; also reports whether the text is or was a token of this installation. */
    look,
  }
}

import { reachOf } from '../../access/reach.ts'
import { reachText } from '../../access/reach-text.ts'
import type { Stored } from '../../events/log.ts'
import { METHODS, type TokenEvent } from '../../events/token.ts'
import { tokens } from '../tokens.ts'
import { MOST_REVISION, type tokenSlots } from './token-slots.ts'

/** Reads the event; undefined if it is unreadable, which its row handles. */
const readable = (type: string, data: string): TokenEvent | undefined => {
  try {
    return tokens.read(type, data)
  } catch {
    return undefined
  }
}

/** Shortens the expiry or narrows the grants of a token in memory. Returns false for other events. */
const restrict = (
  { columns, reach, setReach }: ReturnType<typeof tokenSlots>,
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
  const isSession = METHODS[columns.kinds[slot]!] !== 'token'
  const left = reachOf({ ...data.to, namespace: reach(slot).namespace }, isSession)
  setReach(slot, reachText(left), data.policy)
  return true
}

/**
 * Applies an event to a token in memory without its row. An ended token is removed; an earlier expiry or narrower
 * grants take effect immediately. Returns false if the row is needed. This is the case if the token is not in memory,
 * earlier events are missing, the event does not restrict the token, or the token should have ended already.
 */
export const applyEvent =
  (slots: ReturnType<typeof tokenSlots>, end: (slot: number) => void) =>
  ({ stream, type, revision, data }: Stored): boolean => {
    const { keys, revision: revisionOf, setRevision } = slots
    const slot = keys.byId(stream.slice(tokens.category.length + 1))
    if (slot === undefined) return false
    const known = revisionOf(slot)
    const ends = type === 'TokenRevoked' || type === 'TokenExpired'
    if (revision <= known) return !ends
    if (revision > known + 1n || known === MOST_REVISION) return false
    if (ends) {
      end(slot)
      return true
    }
    const event = readable(type, data)
    if (!event || !restrict(slots, slot, event)) return false
    setRevision(slot, revision)
    return true
  }

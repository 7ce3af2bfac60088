import { reachOf } from '../../access/reach.ts'
import { reachText } from '../../access/reach-text.ts'
import type { Stored } from '../../events/log.ts'
import { METHODS, type TokenEvent } from '../../events/token.ts'
import { tokens } from '../tokens.ts'
import { MOST_REVISION, type tokenSlots } from './token-slots.ts'

/** The event; undefined where it cannot be read, which is for its row to say. */
const readable = (type: string, data: string): TokenEvent | undefined => {
  try {
    return tokens.read(type, data)
  } catch {
    return undefined
  }
}

/** Makes less of a token that is held: it ends earlier, or may do less. False where the event says no such thing. */
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
 * Takes an event of a token that is held, without its row: what ended is forgotten, what ends earlier or may do less does so at once. False
 * where that cannot be done: the token is not held, events before this one are missing, it is not an event that takes anything, or it should
 * have ended the token before.
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

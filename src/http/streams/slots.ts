import { Refusal } from '../../base/errors.ts'
import type { Caller } from '../wire/caller.ts'
import { addressKey } from '../wire/client-address.ts'

/** Maximum number of open streams: of the instance, of a credential, and of a client address. */
export type StreamLimits = { readonly most: number; readonly perCredential: number; readonly perAddress: number }

const AGAIN = { headers: { 'retry-after': '5' } }

/**
 * Counts open streams by their holder: the credential, or the client address for publishable tokens and callers without
 * a credential.
 */
export const openSlots = ({ most, perCredential, perAddress }: StreamLimits) => {
  const held = new Map<string, number>()
  let open = 0
  return {
    most,
    /** Number of open streams. */
    open: (): number => open,
    /** Counts a stream, and returns its holder for `leave`. Over a limit: 429 `rate_limited`. */
    enter: ({ actor, published }: Caller, address: string): string => {
      const isOfAddress = actor.id === undefined || published === true
      const holder = isOfAddress ? `address ${addressKey(address)}` : actor.id
      const own = held.get(holder) ?? 0
      if (open >= most || own >= (isOfAddress ? perAddress : perCredential))
        throw new Refusal('rate_limited', undefined, AGAIN)
      held.set(holder, own + 1)
      open++
      return holder
    },
    leave: (holder: string): void => {
      open--
      const rest = held.get(holder)! - 1
      if (rest > 0) held.set(holder, rest)
      else held.delete(holder)
    },
  }
}

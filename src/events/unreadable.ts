import { Refusal } from '../errors.ts'
import type { Stored } from './log.ts'

/** An event that this version cannot read, or one that the store has lost: where it stands and why. Never what it says. Numbers are decimal texts. */
export type Unreadable = {
  readonly stream: string
  readonly revision: string
  /** Wire name of the event; `''` where it is missing. */
  readonly type: string
  /** Where it stands in the log; of a missing one, the event behind it; `''` where nobody knows. */
  readonly position: string
  readonly why: string
}

/** The refusal of what depends on such an event. */
export const unreadable = (event: Unreadable): Refusal => {
  const { stream, revision, why } = event
  const cause = Object.assign(new Error(`${stream} at revision ${revision}: ${why}`), { unreadable: event })
  return new Refusal('event_unreadable', undefined, { cause })
}

/** The event that an error is about, where it is such a refusal. */
export const unreadableOf = (error: unknown): Unreadable | undefined =>
  error instanceof Refusal ? (error.cause as { readonly unreadable?: Unreadable } | undefined)?.unreadable : undefined

/** The stored event as one that cannot be read. */
export const unreadableEvent = ({ stream, revision, type, position }: Stored, why: string): Unreadable => ({
  stream,
  revision: String(revision),
  type,
  position: String(position),
  why,
})

/** The stored event as one that could not be taken, for what was thrown: it cannot be read, or it does not fit what it came upon. */
export const unreadableBy = (error: unknown, stored: Stored): Unreadable =>
  unreadableOf(error) ?? unreadableEvent(stored, `${stored.type} does not fit what came before it`)

/** What is missing in front of an event of a stream, of which the event at `due` was the next one. */
export const missingBefore = ({ stream, revision, position }: Stored, due: bigint): Unreadable => ({
  stream,
  revision: String(due),
  type: '',
  position: String(position),
  why: `the store has lost revisions ${due} to ${revision - 1n} of the stream`,
})

/** A stored event as its category reads it. Refuses with `event_unreadable` where it cannot, and says which event it is and why. */
export const readEvent = <E>(read: (wire: string, json: string) => E, stored: Stored): E => {
  try {
    return read(stored.type, stored.data)
  } catch (error) {
    throw unreadable(unreadableEvent(stored, error instanceof Error ? error.message : 'it cannot be read'))
  }
}

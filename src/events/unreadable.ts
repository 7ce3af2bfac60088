import { Refusal } from '../base/errors.ts'
import type { Stored } from './log.ts'

/**
 * An event that this version cannot read or that the store has lost: its place and the cause, never its content.
 * Numbers are decimal texts.
 */
export type Unreadable = {
  readonly stream: string
  readonly revision: string
  /** Wire name of the event; `''` if the event is missing. */
  readonly type: string
  /** Position in the log. The position of a missing event is that of the next one, or `''` if unknown. */
  readonly position: string
  readonly why: string
}

/** Refusal of a request that depends on an unreadable event. */
export const unreadable = (event: Unreadable): Refusal => {
  const { stream, revision, why } = event
  const cause = Object.assign(new Error(`${stream} at revision ${revision}: ${why}`), { unreadable: event })
  return new Refusal('event_unreadable', undefined, { cause })
}

/** Returns the unreadable event of a refusal; undefined for any other error. */
export const unreadableOf = (error: unknown): Unreadable | undefined =>
  error instanceof Refusal ? (error.cause as { readonly unreadable?: Unreadable } | undefined)?.unreadable : undefined

/** Describes a stored event as unreadable. */
const unreadableEvent = ({ stream, revision, type, position }: Stored, why: string): Unreadable => ({
  stream,
  revision: String(revision),
  type,
  position: String(position),
  why,
})

/** Describes a stored event that could not be applied: it is unreadable, or it does not fit the state. */
export const unreadableBy = (error: unknown, stored: Stored): Unreadable =>
  unreadableOf(error) ?? unreadableEvent(stored, `${stored.type} contradicts the events before it`)

/** Describes the events missing before a stored event. `expected` is the next revision of the stream. */
export const missingBefore = ({ stream, revision, position }: Stored, expected: bigint): Unreadable => ({
  stream,
  revision: String(expected),
  type: '',
  position: String(position),
  why: `the store has lost revisions ${expected} to ${revision - 1n} of the stream`,
})

/** Reads a stored event with its category's reader. Refuses with `event_unreadable` and the event's place and cause. */
export const readEvent = <E>(read: (wire: string, json: string) => E, stored: Stored): E => {
  try {
    return read(stored.type, stored.data)
  } catch (error) {
    throw unreadable(unreadableEvent(stored, error instanceof Error ? error.message : 'it cannot be read'))
  }
}

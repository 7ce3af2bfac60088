import { changed, type Update } from '../events/change.ts'
import { type At, orderOf } from './projection.ts'

/** Creation and last change of a resource or a part of one, RFC 3339 UTC with milliseconds. */
export type Times = { readonly createdAt: string; readonly updatedAt: string }

/** Times of a part that an event creates. */
export const timesAt = (time: string): Times => ({ createdAt: time, updatedAt: time })

/** Times and place in lists of a document that an event creates. */
export const createdBy = (at: At): Times & { readonly order: string } => ({ order: orderOf(at), ...timesAt(at.time) })

/** Applies an update event to a document or part. */
export const updated = <T extends Times>(before: T, update: Update<T>, updatedAt: string): T => ({
  ...changed(before, update),
  updatedAt,
})

import type { EventFilter } from '../../api/event-filters.ts'
import { isPosition } from '../../at.ts'

const earlier = (one: string | undefined, other: string, isBefore: (one: string, other: string) => boolean): string =>
  one !== undefined && isBefore(one, other) ? one : other

/** Limits a filter to the events up to a moment, which is an instant or a position. */
export const upTo = (filter: EventFilter, at: string | undefined): EventFilter => {
  if (at === undefined) return filter
  if (isPosition(at)) {
    const { beforeIndex: _index, ...rest } = filter
    const isBefore = (one: string, other: string) => isPosition(one) && BigInt(one) < BigInt(other)
    return { ...rest, before: earlier(filter.before, String(BigInt(at) + 1n), isBefore) }
  }
  const ms = Date.parse(at)
  // The service refuses a text that is no instant.
  const to = Number.isNaN(ms) ? at : new Date(ms + 1).toISOString()
  return { ...filter, to: earlier(filter.to, to, (one, other) => Date.parse(one) < Date.parse(other)) }
}

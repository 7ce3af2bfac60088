import type { EventFilter } from '../../api/event-filters.ts'
import { isInstant, isPosition } from '../../at.ts'

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
  // The service refuses a text that is no instant.
  const to = isInstant(at) ? new Date(Date.parse(at) + 1).toISOString() : at
  return { ...filter, to: earlier(filter.to, to, (one, other) => Date.parse(one) < Date.parse(other)) }
}

import type { Unreadable } from '../../events/unreadable.ts'
import type { AnyProjection } from '../projection.ts'
import type { Closed, Row } from '../views.ts'

/**
 * Documents that are unreadable because of one of their events. `tell` is called once for each stream with the event,
 * without content of the document.
 */
export const quarantinedDocuments = (projections: readonly AnyProjection[], tell: (event: Unreadable) => void) => {
  const closed = new Map(projections.map(({ category }) => [category, new Map<string, Closed>()]))
  const reported = new Set<string>()

  const note = ({ stream, revision, type, position, why }: Unreadable): void => {
    if (reported.has(stream)) return
    reported.add(stream)
    tell({ stream, revision, type, position, why })
  }

  return {
    note,
    /** Applies the newest row of a document. */
    take: ({ category }: AnyProjection, { key, unreadable }: Row): void => {
      if (unreadable) {
        closed.get(category)!.set(key, unreadable)
        note(unreadable)
      } else closed.get(category)!.delete(key)
    },
    /** The unreadable documents of a category, by key. */
    all: (category: string): readonly (readonly [key: string, closed: Closed])[] => [...(closed.get(category) ?? [])],
    /** Number of unreadable documents of a category. */
    count: (category: string): number => closed.get(category)?.size ?? 0,
    /** Number of unreadable documents of each category. */
    counts: (): readonly (readonly [category: string, count: number])[] =>
      Array.from(closed, ([category, keys]) => [category, keys.size] as const),
    /** True if no document is unreadable. */
    none: (): boolean => [...closed.values()].every(({ size }) => size === 0),
  }
}

export type QuarantinedDocuments = ReturnType<typeof quarantinedDocuments>

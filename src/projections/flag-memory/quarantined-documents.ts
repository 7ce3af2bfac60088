import type { Unreadable } from '../../events/unreadable.ts'
import type { AnyProjection } from '../projection.ts'
import type { Closed, Row } from '../views.ts'

/** The documents that are closed here by an event that cannot be read. `tell` hears once of each stream which event it is, and nothing of the document. */
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
    /** Takes the newest row of a document. */
    take: ({ category }: AnyProjection, { key, unreadable }: Row): void => {
      if (unreadable) {
        closed.get(category)!.set(key, unreadable)
        note(unreadable)
      } else closed.get(category)!.delete(key)
    },
    /** Those of a category, by their keys. */
    all: (category: string): readonly (readonly [key: string, closed: Closed])[] => [...(closed.get(category) ?? [])],
    /** How many of a category there are now. */
    count: (category: string): number => closed.get(category)?.size ?? 0,
    /** The same of every category. */
    counts: (): readonly (readonly [category: string, count: number])[] =>
      Array.from(closed, ([category, keys]) => [category, keys.size] as const),
    /** Whether there are none of any category. */
    none: (): boolean => [...closed.values()].every(({ size }) => size === 0),
  }
}

export type QuarantinedDocuments = ReturnType<typeof quarantinedDocuments>

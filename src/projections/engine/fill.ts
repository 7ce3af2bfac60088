import type { AnyProjection } from '../projection.ts'
import type { Part, Row, Views } from '../views.ts'

/**
 * What memory needs of a read model that it does not hold whole: the rows that lack a field. Of the others it is given
 * only their number, by another field.
 */
export type Needs = Part & { readonly by: string; readonly others: (counts: ReadonlyMap<string, number>) => void }

/** Memory, as it is filled from the views. */
export type Filled = {
  readonly remember: (projection: AnyProjection, row: Row) => void
  /** Undefined for a read model that memory holds whole. */
  readonly needs?: (projection: AnyProjection) => Needs | undefined
}

/** Fills memory with what it needs of the views; `healed` gives a closed row as this version reads it. */
export const fill = async (
  views: Views,
  projections: readonly AnyProjection[],
  { remember, needs = () => undefined }: Filled,
  healed: (projection: AnyProjection, row: Row) => Promise<Row> = async (_, row) => row,
): Promise<void> => {
  for (const projection of projections) {
    const part = needs(projection)
    if (part) part.others(await views.tally(projection, part.lacking, part.by))
    for await (const rows of views.scan(projection, part))
      for (const row of rows) remember(projection, row.unreadable ? await healed(projection, row) : row)
  }
}

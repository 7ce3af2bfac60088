import type { EventLog } from '../../events/log.ts'
import { type AnyProjection, project } from '../projection.ts'
import type { Row, ViewPart, Views } from '../views.ts'
import { keyOf } from './fold-rows.ts'
import type { Progress } from './rebuild.ts'

/**
 * What memory needs of a read model that it does not hold whole: the rows that lack a field. Of the others it is given
 * only their number, by another field.
 */
type Needs = ViewPart & { readonly by: string; readonly others: (counts: ReadonlyMap<string, number>) => void }

/** Memory, as it is filled from the views. */
export type Filled = {
  readonly remember: (projection: AnyProjection, row: Row) => void
  /** Undefined for a read model that memory holds whole. */
  readonly needs?: (projection: AnyProjection) => Needs | undefined
  /** True for a read model whose rows memory takes from the log alone, because what stands in the views is not to be believed. */
  readonly fromLog?: (projection: AnyProjection) => boolean
}

type Sources = {
  readonly log: Pick<EventLog, 'readAll'>
  readonly views: Views
  readonly projections: readonly AnyProjection[]
  /** The log is read up to here. */
  readonly upTo: bigint
  readonly onProgress?: ((progress: Progress) => void) | undefined
}

/** Folds read models from the log in one pass, and then tells memory. */
const fold = async ({ log, projections, upTo, onProgress }: Sources, { remember }: Filled): Promise<void> => {
  const rows = new Map(projections.map((projection) => [projection, new Map<string, Row>()]))
  let done = 0
  for await (const page of log.readAll(0n, upTo)) {
    for (const event of page) {
      for (const [projection, own] of rows) {
        if (!event.stream.startsWith(`${projection.category}-`)) continue
        const key = keyOf(projection, event.stream)
        own.set(key, project(projection, own.get(key), event))
      }
    }
    done += page.length
    onProgress?.({ done, position: page.at(-1)!.position, head: upTo })
  }
  for (const [projection, own] of rows) for (const row of own.values()) remember(projection, row)
}

/** Fills memory with what it needs of the read models; `healed` gives a closed row as this version reads it. */
export const loadMemory = async (
  sources: Sources,
  filled: Filled,
  healed: (projection: AnyProjection, row: Row) => Promise<Row> = async (_, row) => row,
): Promise<void> => {
  const { views, projections } = sources
  const { remember, needs = () => undefined, fromLog = () => false } = filled
  const folded = projections.filter(fromLog)
  if (folded.length > 0) await fold({ ...sources, projections: folded }, filled)
  for (const projection of projections.filter((each) => !fromLog(each))) {
    const part = needs(projection)
    if (part) part.others(await views.tally(projection, part.lacking, part.by))
    for await (const rows of views.scan(projection, part))
      for (const row of rows) remember(projection, row.unreadable ? await healed(projection, row) : row)
  }
}

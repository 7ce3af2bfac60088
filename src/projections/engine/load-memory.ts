import type { EventLog } from '../../events/log.ts'
import { type AnyProjection, project } from '../projection.ts'
import type { Row, ViewPart, Views } from '../views.ts'
import { keyOf } from './fold-rows.ts'
import type { Progress } from './rebuild.ts'

/**
 * The part of a read model that memory needs if it does not hold whole rows: the rows that lack a field. Of all other
 * documents memory receives only the number, grouped by another field.
 */
type Needs = ViewPart & { readonly by: string; readonly others: (counts: ReadonlyMap<string, number>) => void }

/** Memory that is loaded from the views. */
export type Filled = {
  readonly remember: (projection: AnyProjection, row: Row) => void
  /** The value is undefined for a read model whose whole rows are in memory. */
  readonly needs?: (projection: AnyProjection) => Needs | undefined
  /** True for a read model that memory loads from the log only, because its views are not trusted. */
  readonly fromLog?: (projection: AnyProjection) => boolean
}

type Sources = {
  readonly log: Pick<EventLog, 'readAll'>
  readonly views: Views
  readonly projections: readonly AnyProjection[]
  /** Last position that is read from the log. */
  readonly upTo: bigint
  readonly onProgress?: ((progress: Progress) => void) | undefined
}

/** Folds read models from the log in one pass, and stores the rows in memory. */
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

/** Loads memory from the read models; `healed` returns an unreadable row as this version reads it. */
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

import { rowNow } from '../../as-of/as-of.ts'
import { invalid, refuse } from '../../base/errors.ts'
import { forEachSliced } from '../../base/event-loop.ts'
import type { AnyEvent } from '../../events/define.ts'
import type { Stored } from '../../events/log.ts'
import { type Projection, project, readable } from '../../projections/projection.ts'
import type { Row } from '../../projections/views.ts'
import type { CommandServices } from '../services/commands.ts'

/** Outcome of a rehearsed command: the events that would follow, and the revision after them. */
export type Rehearsed = { readonly stored: readonly Stored[]; readonly revision: bigint }

type Live<D extends object> = Row<D> & { readonly doc: D }

/** The row with a document, if it is the one from which the command was decided. */
const decidedFrom = <D extends object>(
  row: Row<D> | undefined,
  own: readonly Stored[],
  revision: bigint,
): Live<D> | undefined => {
  const matches = own.length > 0 ? own[0]!.revision === (row?.revision ?? -1n) + 1n : row?.changes === revision
  return row?.doc && matches ? (row as Live<D>) : undefined
}

/**
 * The present row of a document and the document after rehearsed events. `known` is the row in memory; if it is not the
 * row from which the command was decided, the row is read from the log. Refuses with `write_conflict` if another writer
 * has changed the document since.
 */
export const rehearsedRows = async <D extends object, E extends AnyEvent>(
  { log }: Pick<CommandServices, 'log'>,
  projection: Projection<D, E>,
  id: string,
  known: Row<D> | undefined,
  { stored, revision }: Rehearsed,
): Promise<{ readonly present: Live<D>; readonly next: D }> => {
  const own = stored.filter(({ stream }) => stream === `${projection.category}-${id}`)
  const present =
    decidedFrom(known, own, revision) ??
    decidedFrom(readable(await rowNow(log, projection, id)), own, revision) ??
    refuse('write_conflict')
  let row: Row<D> = present
  await forEachSliced(own, (event) => {
    row = project(projection, row, event)
  })
  return { present, next: readable(row)?.doc ?? refuse('write_conflict') }
}

/** Refuses an entity in the body of a request that is no dry run, because such a request would write. */
export const insistOnDryRun = ({ evaluate }: { readonly evaluate: unknown }): void => {
  if (evaluate !== undefined) invalid('evaluate', 'must be absent unless dryRun is true')
}

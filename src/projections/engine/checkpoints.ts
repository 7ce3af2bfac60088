import type { Stored } from '../../events/log.ts'
import { type AnyProjection, areQuiet } from '../projection.ts'
import type { Checkpoint, Views } from '../views.ts'

/** Where a view stands before the first event. */
export const START: Checkpoint = { position: 0n, event: '', log: '', events: 0, rows: 0 }

/** The checkpoint of a view after a further page of the log; events at or before it count no second time. */
export const advanced = (projection: AnyProjection, from: Checkpoint, page: readonly Stored[]): Checkpoint => {
  const beyond = page.filter(({ position }) => position > from.position)
  const last = beyond.at(-1)
  if (!last) return from
  const begins = (event: Stored) =>
    event.revision === 0n && event.stream.startsWith(`${projection.category}-`) && !areQuiet(projection, [event])
  return {
    position: last.position,
    event: last.id,
    log: from.log || beyond[0]!.id,
    events: from.events + beyond.length,
    rows: from.rows + beyond.filter(begins).length,
  }
}

/** Of each view, how far it is. */
export type Checkpoints = ReadonlyMap<AnyProjection, Checkpoint>

/** The position up to which all of them hold every event. */
export const leastPosition = (checkpoints: Checkpoints): bigint =>
  [...checkpoints.values()].reduce<bigint | undefined>(
    (least, { position }) => (least === undefined || position < least ? position : least),
    undefined,
  ) ?? 0n

/** The checkpoints of views as one writer moves them: it knows where it left each, and moves none that stands elsewhere. */
export const checkpointsOf = (views: Pick<Views, 'checkpoint' | 'mark'>, projections: readonly AnyProjection[]) => {
  let reached: Checkpoints = new Map()
  let stored: Checkpoints = new Map()

  return {
    /** Begins where the views stand. Throws for one that was never built or is there no more. */
    load: async (): Promise<void> => {
      const found = new Map<AnyProjection, Checkpoint>()
      for (const projection of projections) {
        const checkpoint = await views.checkpoint(projection)
        if (!checkpoint) throw new Error(`the read model ${projection.name} is not there`)
        found.set(projection, checkpoint)
      }
      reached = stored = found
    },
    /** Takes a further page of the log that the views hold now. */
    advance: (page: readonly Stored[]): void => {
      reached = new Map([...reached].map(([projection, from]) => [projection, advanced(projection, from, page)]))
    },
    reached: (): Checkpoints => reached,
    /** Moves what stands before `to`. Throws where a checkpoint is not as it was left: another writes these views, or they are lost. */
    mark: async (to: Checkpoints): Promise<void> => {
      for (const [projection, checkpoint] of to) {
        const { position } = stored.get(projection)!
        if (checkpoint.position <= position) continue
        if (!(await views.mark(projection, position, checkpoint)))
          throw new Error(`the checkpoint of the read model ${projection.name} is not where it was left`)
        stored = new Map([...stored, [projection, checkpoint]])
      }
    },
  }
}

import { eachTogether } from '../../base/concurrency.ts'
import type { EventLog, Stored } from '../../events/log.ts'
import { isLogProjection, type ReadModel } from '../history/log-marks.ts'
import { areQuiet } from '../projection.ts'
import { type Checkpoint, fallShort, type Views } from '../views.ts'
import type { Anchor } from './log-guard.ts'

/** Checkpoint of a view before the first event. */
export const START: Checkpoint = { position: 0n, event: '', log: '', events: 0, rows: 0, changes: 0 }

/** The checkpoint of a view after a further page of the log. Events at or before it are not counted again. Rows and changes of a log projection are not counted, because its rows are optional. */
export const advanced = (projection: ReadModel, from: Checkpoint, page: readonly Stored[]): Checkpoint => {
  const beyond = page.filter(({ position }) => position > from.position)
  const last = beyond.at(-1)
  if (!last) return from
  const changing = beyond.filter(
    (event) =>
      !isLogProjection(projection) &&
      event.stream.startsWith(`${projection.category}-`) &&
      !areQuiet(projection, [event]),
  )
  return {
    position: last.position,
    event: last.id,
    log: from.log || beyond[0]!.id,
    events: from.events + beyond.length,
    rows: from.rows + changing.filter(({ revision }) => revision === 0n).length,
    changes: from.changes + changing.length,
  }
}

/** The checkpoint of each view. */
export type Checkpoints = ReadonlyMap<ReadModel, Checkpoint>

/** The position up to which all views hold every event. */
export const leastPosition = (checkpoints: Checkpoints): bigint =>
  [...checkpoints.values()].reduce<bigint | undefined>(
    (least, { position }) => (least === undefined || position < least ? position : least),
    undefined,
  ) ?? 0n

/** Other programs changed the views. The next start rebuilds these views. */
const viewsLost = (message: string): Error => Object.assign(new Error(message), { viewsLost: true })
export const areLost = (error: unknown): boolean => error instanceof Error && 'viewsLost' in error

type Kept = Pick<Views, 'checkpoint' | 'mark' | 'totals'>
type CheckpointsOptions = {
  /** Set if other instances write the views too: whether the log has the event of a checkpoint. */
  readonly has?: ((anchor: Anchor) => Promise<boolean>) | undefined
}

/**
 * Checkpoints of views as one writer moves them. The writer moves a checkpoint only from the position where it left it
 * (optimistic concurrency).
 */
export const checkpointsOf = (views: Kept, projections: readonly ReadModel[], { has }: CheckpointsOptions = {}) => {
  let reached: Checkpoints = new Map()
  let stored: Checkpoints = new Map()

  const standing = async (projection: ReadModel): Promise<Checkpoint> => {
    const checkpoint = await views.checkpoint(projection)
    if (!checkpoint) throw viewsLost(`the read model ${projection.name} does not exist`)
    return checkpoint
  }

  return {
    /** Loads the stored checkpoints. Throws if rows or the checkpoint of a view are lost. */
    load: async (): Promise<void> => {
      const checkpoints = await Promise.all(projections.map(standing))
      const found = await eachTogether(projections, async (projection) => {
        const checkpoint = checkpoints[projections.indexOf(projection)]!
        if (has && !(await has(checkpoint)))
          throw viewsLost(
            `the read model ${projection.name} has processed the log up to position ${checkpoint.position}, but the log contains a different event at this position`,
          )
        if (has && fallShort(await views.totals(projection), checkpoint))
          throw viewsLost(`rows of the read model ${projection.name} are missing or older than its checkpoint`)
        return [projection, checkpoint] as const
      })
      reached = stored = new Map(found)
    },
    /** Advances the checkpoint past a page of the log that the views contain now. */
    advance: (page: readonly Stored[]): void => {
      reached = new Map([...reached].map(([projection, from]) => [projection, advanced(projection, from, page)]))
    },
    reached: (): Checkpoints => reached,
    /** Records the identity of the log in all views before their first rows, because rows do not contain it. */
    name: async (log: Pick<EventLog, 'first'>): Promise<void> => {
      const nameless = [...stored].filter(([, checkpoint]) => checkpoint.log === '')
      const first = nameless.length > 0 && (await log.first())
      if (!first) return
      const named = nameless.map(([projection, checkpoint]) => [projection, { ...checkpoint, log: first.id }] as const)
      await Promise.all(named.map(([projection, to]) => views.mark(projection, to.position, to)))
      stored = new Map([...stored, ...named])
    },
    /**
     * Whether the stored checkpoints are those that this writer left. Throws if rows or the checkpoint of a view are
     * lost.
     */
    stand: async (): Promise<boolean> => {
      const left = [...stored]
      const found = await Promise.all(left.map(([projection]) => standing(projection)))
      return left.every(([, { position }], n) => found[n]!.position === position)
    },
    /** Moves the checkpoints that are behind `to`. Returns false if another writer has moved one; throws if a view is lost. */
    mark: async (to: Checkpoints): Promise<boolean> => {
      const behind = [...to].filter(([projection, { position }]) => position > stored.get(projection)!.position)
      const move = async ([projection, checkpoint]: readonly [ReadModel, Checkpoint]) => {
        if (await views.mark(projection, stored.get(projection)!.position, checkpoint)) {
          stored = new Map([...stored, [projection, checkpoint]])
          return true
        }
        await standing(projection)
        return false
      }
      return (await Promise.all(behind.map(move))).every((is) => is)
    },
  }
}

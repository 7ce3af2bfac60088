import type { EventLog } from '../../events/log.ts'
import { type AnyProjection, project } from '../projection.ts'
import type { Row, Views } from '../views.ts'
import { advanced, START } from './checkpoints.ts'

/** Events read so far, the position reached, and the position at which this pass ends. */
export type Progress = { readonly done: number; readonly position: bigint; readonly head: bigint }

/** Builds a read model anew from the first event, beside the live one, and swaps it in; the live one answers meanwhile. */
export const rebuild = async (
  log: EventLog,
  views: Views,
  projection: AnyProjection,
  onProgress: (progress: Progress) => void = () => {},
): Promise<void> => {
  const building = await views.build(projection)
  try {
    const rows = new Map<string, Row>()
    const changed = new Set<string>()
    const head = await log.head()
    const prefix = `${projection.category}-`
    let checkpoint = START
    for await (const page of log.readAll(0n, head)) {
      const fresh = new Set<string>()
      for (const event of page) {
        const { stream } = event
        if (!stream.startsWith(prefix)) continue
        const row = rows.get(stream)
        if (row === undefined) fresh.add(stream)
        else if (!fresh.has(stream)) changed.add(stream)
        rows.set(stream, project(projection, row, event))
      }
      await building.put(Array.from(fresh, (stream) => rows.get(stream)!))
      checkpoint = advanced(projection, checkpoint, page)
      onProgress({ done: checkpoint.events, position: checkpoint.position, head })
    }
    await building.put(Array.from(changed, (stream) => rows.get(stream)!))
    await building.swap(checkpoint)
  } catch (error) {
    await building.discard()
    throw error
  }
}

import type { Log } from '../events/log.ts'
import { type AnyProjection, project } from './projection.ts'
import type { Row, Views } from './views.ts'

/** Events read so far, the position reached, and the position at which this pass ends. */
export type Progress = { readonly done: number; readonly position: bigint; readonly head: bigint }

/** Builds a read model anew from the first event, beside the live one, and swaps it in; the live one answers meanwhile. */
export const rebuild = async (
  log: Log,
  views: Views,
  projection: AnyProjection,
  onProgress: (progress: Progress) => void = () => {},
): Promise<void> => {
  const building = await views.build(projection)
  try {
    const rows = new Map<string, Row>()
    const head = await log.head()
    const prefix = `${projection.category}-`
    let [done, position] = [0, 0n]
    for await (const page of log.readAll(0n, head)) {
      for (const event of page) {
        if (event.stream.startsWith(prefix)) rows.set(event.stream, project(projection, rows.get(event.stream), event))
      }
      done += page.length
      position = page.at(-1)!.position
      onProgress({ done, position, head })
    }
    await building.put([...rows.values()])
    await building.swap(position)
  } catch (error) {
    await building.discard()
    throw error
  }
}

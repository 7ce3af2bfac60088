import { isRefusal } from '../../base/errors.ts'
import type { ReadModel } from '../history/log-projection.ts'
import type { Checkpoint, Row, Views } from '../views.ts'
import type { Checkpoints } from './checkpoints.ts'

const nameOf = ({ name }: ReadModel, key: string) => `${name} ${key}`

/**
 * Writes rows and skips those that the views refuse as too large. Records each skipped document with the checkpoint that its view
 * had reached.
 */
export const oversizedRows = (
  views: Pick<Views, 'put'>,
  reached: () => Checkpoints,
  onError: (error: unknown) => void,
  name: (projection: ReadModel) => Promise<void> = async () => undefined,
) => {
  const refused = new Map<string, { readonly projection: ReadModel; readonly checkpoint: Checkpoint | undefined }>()

  const holds = (projection: ReadModel, key: string): void => void refused.delete(nameOf(projection, key))

  const refuse = (projection: ReadModel, key: string, cause: unknown) => {
    const name = nameOf(projection, key)
    if (refused.has(name)) return
    refused.set(name, { projection, checkpoint: reached().get(projection) })
    onError(new Error(`${name} is larger than a read model accepts, so lists show its earlier state`, { cause }))
  }

  /** Writes the rows that fit, and returns them. A row that is too large is skipped and reported once. */
  const put = async (projection: ReadModel, rows: readonly Row[]): Promise<readonly Row[]> => {
    try {
      await name(projection)
      await views.put(projection, rows)
    } catch (error) {
      if (!isRefusal(error, 'body_too_large')) throw error
      const [row, ...others] = rows
      if (others.length === 0) {
        refuse(projection, row!.key, error)
        return []
      }
      const fitting: Row[] = []
      for (const one of rows) fitting.push(...(await put(projection, [one])))
      return fitting
    }
    if (refused.size > 0) for (const { key } of rows) holds(projection, key)
    return rows
  }

  return {
    put,
    /** Records that the views hold the current row of this document. */
    holds,
    /** Limits each checkpoint to the first skipped document of its view, so that a start from there reads its events again. */
    behind: (all: Checkpoints): Checkpoints => {
      const behind = new Map(all)
      for (const { projection, checkpoint } of [...refused.values()].toReversed())
        if (checkpoint) behind.set(projection, checkpoint)
      return behind
    },
    forget: (): void => refused.clear(),
    count: (): number => refused.size,
  }
}

import { LRUCache } from 'lru-cache'
import type { AnyProjection } from '../projection.ts'
import type { Row } from '../views.ts'

/** Maximum number of rows, and their size together in UTF-16 units. */
const [RECENT, RECENT_SIZE] = [1_000, 32 * 1_048_576]

/** Cache (LRU) of the rows of recently changed documents, bounded in number and size. */
export const recentRows = (most = RECENT_SIZE) => {
  const recent = new LRUCache<string, { readonly row: Row; readonly size: number }>({
    max: RECENT,
    maxSize: most,
    sizeCalculation: ({ size }) => size + 1,
  })
  const nameOf = ({ name }: AnyProjection, stream: string): string => `${name} ${stream}`
  return {
    get: (projection: AnyProjection, stream: string): Row | undefined => recent.get(nameOf(projection, stream))?.row,
    set: (projection: AnyProjection, stream: string, row: Row, size: number): void =>
      void recent.set(nameOf(projection, stream), { row, size }),
  }
}

import type { Checkpoint, Row, View, Views } from '../src/projections/views.ts'
import { supersedes } from '../src/projections/views.ts'

/** Views in memory, any number of them. `refuses` is asked before each put, and refuses it by throwing. */
export const memoryViews = (refuses: (view: View, rows: readonly Row[]) => void = () => {}) => {
  const tables = new Map<string, Map<string, Row>>()
  const checkpoints = new Map<string, Checkpoint>()
  const rowsOf = ({ name }: View): Map<string, Row> => {
    const rows = tables.get(name) ?? new Map<string, Row>()
    tables.set(name, rows)
    return rows
  }
  const write = (view: View, given: readonly Row[]) => {
    const rows = rowsOf(view)
    for (const row of given) {
      const there = rows.get(row.key)
      if (!there || supersedes(row, there)) rows.set(row.key, row)
    }
  }
  const getMany = (view: View) => async (keys: readonly string[]) => keys.flatMap((key) => rowsOf(view).get(key) ?? [])
  const views = {
    getMany: (view: View, keys: readonly string[]) => getMany(view)(keys),
    put: async (view: View, given: readonly Row[]) => {
      refuses(view, given)
      write(view, given)
    },
    scan: async function* (view: View) {
      yield [...rowsOf(view).values()]
    },
    totals: async (view: View) => {
      const rows = [...rowsOf(view).values()]
      return { rows: rows.length, changes: rows.reduce((sum, { changes }) => sum + Number(changes), 0) }
    },
    checkpoint: async ({ name }: View) => checkpoints.get(name),
    mark: async ({ name }: View, from: bigint | undefined, to: Checkpoint) => {
      if (checkpoints.get(name)?.position !== from) return false
      checkpoints.set(name, to)
      return true
    },
    build: async (view: View) => ({
      checkpoint: undefined,
      getMany: getMany(view),
      put: async (given: readonly Row[]) => write(view, given),
      mark: async () => undefined,
      swap: async (to: Checkpoint) => void checkpoints.set(view.name, to),
      leave: async () => undefined,
      discard: async () => undefined,
    }),
  } as unknown as Views
  return { views, rowsOf, checkpoints }
}

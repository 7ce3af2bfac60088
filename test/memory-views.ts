import type { Checkpoint, Row, View, ViewPart, Views } from '../src/projections/views.ts'
import { supersedes } from '../src/projections/views.ts'

/** A call of the views. `rows` are those that are put, else none. */
export type Call = {
  readonly name: 'getMany' | 'put' | 'scan' | 'tally' | 'totals' | 'checkpoint' | 'mark'
  readonly view: View
  readonly rows: readonly Row[]
}

/** A row with these fields of its document alone, or none where the document does not lack the field. */
const partOf = (row: Row, { lacking, fields }: ViewPart): readonly Row[] => {
  if (row.doc === undefined) return [row]
  const all = Object.entries(row.doc)
  if (all.some(([name, value]) => name === lacking && value !== undefined)) return []
  return [{ ...row, doc: Object.fromEntries(all.filter(([name]) => fields.includes(name))) }]
}

/** Views in memory, any number of them. `before` is awaited before each call: it refuses a call by throwing, and holds one up by a promise. What builds views anew is not asked about. */
export const memoryViews = (before: (call: Call) => unknown = () => {}) => {
  const tables = new Map<string, Map<string, Row>>()
  const checkpoints = new Map<string, Checkpoint>()
  const rowsOf = ({ name }: Pick<View, 'name'>): Map<string, Row> => {
    const rows = tables.get(name) ?? new Map<string, Row>()
    tables.set(name, rows)
    return rows
  }
  const asked = async (name: Call['name'], view: View, rows: readonly Row[] = []) => before({ name, view, rows })
  const write = (view: View, given: readonly Row[]) => {
    const rows = rowsOf(view)
    for (const row of given) {
      const there = rows.get(row.key)
      if (!there || supersedes(row, there)) rows.set(row.key, row)
    }
  }
  const found = (view: View, keys: readonly string[]) => keys.flatMap((key) => rowsOf(view).get(key) ?? [])
  const views = {
    getMany: async (view: View, keys: readonly string[]) => {
      await asked('getMany', view)
      return found(view, keys)
    },
    put: async (view: View, given: readonly Row[]) => {
      await asked('put', view, given)
      write(view, given)
    },
    scan: async function* (view: View, part?: ViewPart) {
      await asked('scan', view)
      yield [...rowsOf(view).values()].flatMap((row) => (part ? partOf(row, part) : row))
    },
    tally: async (view: View, having: string, by: string) => {
      await asked('tally', view)
      const counts = new Map<string, number>()
      for (const { doc } of rowsOf(view).values()) {
        const { [having]: has, [by]: value } = (doc ?? {}) as Readonly<Record<string, unknown>>
        if (has !== undefined) counts.set(String(value), (counts.get(String(value)) ?? 0) + 1)
      }
      return counts
    },
    totals: async (view: View) => {
      await asked('totals', view)
      const rows = [...rowsOf(view).values()]
      return { rows: rows.length, changes: rows.reduce((sum, { changes }) => sum + Number(changes), 0) }
    },
    checkpoint: async (view: View) => {
      await asked('checkpoint', view)
      return checkpoints.get(view.name)
    },
    mark: async (view: View, from: bigint | undefined, to: Checkpoint) => {
      await asked('mark', view)
      if (checkpoints.get(view.name)?.position !== from) return false
      checkpoints.set(view.name, to)
      return true
    },
    build: async (view: View) => ({
      checkpoint: undefined,
      getMany: async (keys: readonly string[]) => found(view, keys),
      put: async (given: readonly Row[]) => write(view, given),
      mark: async () => undefined,
      swap: async (to: Checkpoint) => void checkpoints.set(view.name, to),
      leave: async () => undefined,
      discard: async () => undefined,
    }),
  } as unknown as Views
  return { views, rowsOf, checkpoints }
}

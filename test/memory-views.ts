import type { Checkpoint, Row, View, ViewPart, Views } from '../src/projections/views.ts'
import { supersedes } from '../src/projections/views.ts'

/** Call of the views; `rows` are the written ones, else empty. */
export type Call = {
  readonly name: 'getMany' | 'put' | 'scan' | 'tally' | 'totals' | 'newest' | 'checkpoint' | 'mark'
  readonly view: View
  readonly rows: readonly Row[]
}

/** Reduces a row to some fields of its document; none if the document has the field that must be missing. */
const partOf = (row: Row, { lacking, fields }: ViewPart): readonly Row[] => {
  if (row.doc === undefined) return [row]
  const all = Object.entries(row.doc)
  if (all.some(([name, value]) => name === lacking && value !== undefined)) return []
  return [{ ...row, doc: Object.fromEntries(all.filter(([name]) => fields.includes(name))) }]
}

/**
 * In-memory views. `before` is awaited before each call except those of a build: it fails a call by throwing and delays
 * it by a promise.
 */
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
    newest: async (view: View) => {
      await asked('newest', view)
      return [...rowsOf(view).values()].reduce((most, { position }) => (position > most ? position : most), 0n)
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

import { reader } from '../events/define.ts'
import { destroyed, type ErasureEvent, type ErasureProgress, erasureEvents, requested } from '../events/erasure.ts'
import { type KeysEvent, keysEvents } from '../events/keys.ts'
import { lastKnown, type Projection } from './projection.ts'
import type { Row } from './views.ts'

/** Read model of the erasures, one document per subject. Memory holds all of them. */
export const erasures: Projection<ErasureProgress, ErasureEvent | KeysEvent> = {
  name: 'erasures',
  version: 1,
  fields: [],
  indexes: [],
  category: 'keys',
  read: reader({ ...keysEvents, ...erasureEvents }),
  on: {
    SubjectErasureRequested: (doc, { keys }) => requested(doc, keys),
    SubjectErased: (doc, { keys }) => destroyed(doc, keys),
    LostKeysAccepted: (doc) => doc,
  },
}

/** Keys that an erasure has destroyed. */
const destroyedIn = (row: Row<ErasureProgress>): readonly string[] => {
  const { keys = [], left = [] } = lastKnown(row) ?? {}
  const open = new Set(left)
  return keys.filter((key) => !open.has(key))
}

/** Erasures in memory. Rows may arrive in any order and repeatedly. `onErased` receives the destroyed keys of a row. */
export const erasureStore = (onErased: (keys: readonly string[]) => unknown) => {
  const held = new Map<string, Row<ErasureProgress>>()
  const subjects = new Set<string>()
  return {
    /** Subjects whose erasure was requested. */
    subjects: subjects as ReadonlySet<string>,
    /** Stores a row. Rows of other views are ignored. */
    set: (view: string, row: Row): void => {
      if (view !== erasures.name || (held.get(row.key)?.revision ?? -1n) >= row.revision) return
      held.set(row.key, row as Row<ErasureProgress>)
      if (lastKnown(row)) subjects.add(row.key)
      onErased(destroyedIn(row as Row<ErasureProgress>))
    },
    /** The stored row of a subject. */
    row: (key: string): Row | undefined => held.get(key),
    rows: (): readonly (readonly [view: string, row: Row])[] =>
      Array.from(held.values(), (row) => [erasures.name, row]),
    /** Progress of the erasure of a subject; undefined if none was requested. */
    of: (subject: string): ErasureProgress | undefined => lastKnown(held.get(subject)),
    /** Progress of all erasures, by subject. */
    all: (): readonly (readonly [subject: string, progress: ErasureProgress])[] =>
      [...held].flatMap(([subject, row]) => {
        const progress = lastKnown(row)
        return progress ? [[subject, progress] as const] : []
      }),
    /** All keys that erasures have destroyed. */
    destroyed: (): readonly string[] => [...held.values()].flatMap(destroyedIn),
  }
}

export type ErasureStore = ReturnType<typeof erasureStore>

import { LRUCache } from 'lru-cache'
import { isRefusal } from '../base/errors.ts'
import { reader } from '../events/define.ts'
import {
  destroyed,
  type ErasureEvent,
  type ErasureProgress,
  erasureEvents,
  type KeysEvent,
  keysEvents,
  requested,
} from '../events/deployment.ts'
import type { EventLog, Stored } from '../events/log.ts'
import { lastKnown, type Projection, project } from './projection.ts'
import { tokens } from './tokens.ts'
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
    /** Subjects whose erasure was requested, and the subjects of the keys that these requests name. */
    subjects: subjects as ReadonlySet<string>,
    /** Stores a row. Rows of other views are ignored. */
    set: (view: string, row: Row): void => {
      if (view !== erasures.name || (held.get(row.key)?.revision ?? -1n) >= row.revision) return
      held.set(row.key, row as Row<ErasureProgress>)
      const progress = lastKnown(row as Row<ErasureProgress>)
      if (progress) for (const subject of [row.key, ...progress.keys]) subjects.add(subject)
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

/** Maximum number of remembered holders of tokens. */
const HOLDERS = 10_000

/** Returns the first event of a stream; undefined if the stream is empty, or if the store cannot read it. */
const firstIn = async (log: Pick<EventLog, 'read'>, stream: string): Promise<Stored | undefined> => {
  try {
    for await (const [first] of log.read(stream, 0n, 1)) return first
  } catch (error) {
    if (!isRefusal(error, 'event_unreadable')) throw error
  }
  return undefined
}

/**
 * Returns a function that is true if the log has an erasure of a subject, or of the person to whom the token of the
 * subject was issued. Reads at most three events, and none if memory has the erasure of the subject.
 */
export const erasedInLog = (log: Pick<EventLog, 'read'>, { subjects }: Pick<ErasureStore, 'subjects'>) => {
  const holders = new LRUCache<string, string>({ max: HOLDERS })
  /** Subject of the person to whom a token was issued; empty if there is none. An erasure names no keyless token. */
  const holderOf = async (token: string): Promise<string> => {
    const known = holders.get(token)
    if (known !== undefined) return known
    const issue = await firstIn(log, token)
    const holder = (issue && lastKnown(project(tokens, undefined, issue))?.subject) ?? ''
    if (issue) holders.set(token, holder)
    return holder
  }
  return async (subject: string): Promise<boolean> => {
    if (subjects.has(subject)) return true
    const holder = subject.startsWith(`${tokens.category}-`) ? await holderOf(subject) : ''
    if (subjects.has(holder)) return true
    // Another instance may have recorded the erasure after the newest event in memory.
    for (const one of [subject, holder])
      if (one !== '' && (await firstIn(log, `${erasures.category}-${one}`))) return true
    return false
  }
}

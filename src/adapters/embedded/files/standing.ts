import { statSync } from 'node:fs'
import { refuse } from '../../../errors.ts'
import type { EventLog } from '../../../events/log.ts'
import { opens } from '../../key-wrap.ts'
import { WITNESS } from '../keys.ts'
import { embeddedLog } from '../log.ts'
import { ofFile, openDatabase, rowsOf } from '../sqlite.ts'
import type { Channel } from '../writer/channel.ts'
import type { Paths } from '../writer/protocol.ts'
import { type Look, lookAtLog, NOTHING } from './look.ts'

/** What stands in a directory before anything of it is made. */
export type Standing = {
  /** The history, to read; undefined where there is none. */
  readonly log: Pick<EventLog, 'first' | 'read' | 'readAll' | 'head'> | undefined
  /** What is cheap to see of the history. */
  readonly look: () => Promise<Look>
  /** Whether there are keys of subjects, and this key-encryption key opens them. */
  readonly subjects: (kek: Uint8Array) => 'missing' | 'closed' | 'open'
}

const isThere = (path: string): boolean => (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0
/** A channel to no writer. */
export const closed: Channel = {
  call: async () => refuse('backend_unavailable'),
  loseViews: () => undefined,
  renewViews: async () => refuse('backend_unavailable'),
  close: async () => undefined,
}
const HAS_TABLE = "select 1 from sqlite_master where type = 'table' and name = ?"

/** Looks at a directory that this process has locked and nobody writes to yet, and makes no file in it but those that SQLite puts beside its own. */
export const withStanding = async <T>(
  { events, subjects }: Pick<Paths, 'events' | 'subjects'>,
  look: (standing: Standing) => Promise<T>,
): Promise<T> => {
  const history = isThere(events) ? await ofFile(events, () => openDatabase(events, 'read')) : undefined
  const listeners = { file: events, onDamage: () => undefined }
  try {
    const hasEvents = await ofFile(events, () => history && rowsOf(history, HAS_TABLE).get('events'))
    const log = history && hasEvents ? embeddedLog(closed, history, listeners) : undefined
    const witness = await ofFile(subjects, () => witnessIn(subjects))
    return await look({
      log,
      look: () => ofFile(events, () => (history ? lookAtLog(history) : NOTHING)),
      subjects: (kek) => (witness ? (opens(kek, WITNESS, witness) ? 'open' : 'closed') : 'missing'),
    })
  } finally {
    history?.close()
  }
}

/** The witness among the keys of subjects. Written like the writer opens it, for what a power loss left half done is undone before it is read. */
const witnessIn = async (path: string): Promise<Uint8Array | undefined> => {
  if (!isThere(path)) return undefined
  const database = await openDatabase(path, 'erasing')
  try {
    if (!rowsOf(database, HAS_TABLE).get('subjects')) return undefined
    const row = rowsOf(database, 'select key from subjects where subject = ?').get(WITNESS)
    return (row as readonly [Uint8Array | null] | undefined)?.[0] ?? undefined
  } finally {
    database.close()
  }
}

import { statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { refuse } from '../../../base/errors.ts'
import type { EventLog } from '../../../events/log.ts'
import { opens } from '../../key-wrap.ts'
import { WITNESS } from '../keys.ts'
import { embeddedLog } from '../log.ts'
import { damage, damaged, ofFile, openDatabase, rowsOf } from '../sqlite.ts'
import type { Channel } from '../writer/channel.ts'
import type { Paths } from '../writer/protocol.ts'
import { LEDGER, problemsIn, problemsOf } from './inspect.ts'
import { type Look, lookAtLog, NOTHING } from './look.ts'

/** Contents of a data directory before any file is created in it. */
export type Standing = {
  /** The log, read-only; undefined if there is none. */
  readonly log: Pick<EventLog, 'first' | 'read' | 'readAll' | 'head'> | undefined
  /** Quick check of the event log. */
  readonly look: () => Promise<Look>
  /** State of the subject keys: none, or locked or opened by this key-encryption key. */
  readonly subjects: (kek: Uint8Array) => 'missing' | 'closed' | 'open'
}

const isThere = (path: string): boolean => (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0
/** A channel without a writer; refuses all calls. */
export const closed: Channel = {
  call: async () => refuse('backend_unavailable'),
  loseAll: () => undefined,
  loseViews: () => undefined,
  renewViews: async () => refuse('backend_unavailable'),
  close: async () => undefined,
}
const HAS_TABLE = "select 1 from sqlite_master where type = 'table' and name = ?"

/**
 * Inspects a directory that this process has locked, before the writer thread starts. Creates no files except the
 * companion files of SQLite.
 */
export const withStanding = async <T>(
  { events, subjects }: Pick<Paths, 'events' | 'subjects'>,
  look: (standing: Standing) => Promise<T>,
): Promise<T> => {
  const history = isThere(events) ? await ofFile(events, () => openDatabase(events, 'read')) : undefined
  await insistOnLedger(join(dirname(events), LEDGER))
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

/** Throws if a ledger has objects that are not of this version. One that does not open is set aside later. */
const insistOnLedger = async (file: string): Promise<void> => {
  const problems = await problemsIn(file).catch(() => [])
  if (problems.length > 0) throw damaged(file, new Error(problems.join('; ')))
}

/**
 * Reads the row with which a key-encryption key is checked. Opens the file for writing, as the writer does, so that
 * SQLite first rolls back a transaction that a power loss interrupted.
 */
const witnessIn = async (path: string): Promise<Uint8Array | undefined> => {
  if (!isThere(path)) return undefined
  const database = await openDatabase(path, 'erasing')
  try {
    const problems = problemsOf(database, path)
    if (problems.length > 0) throw damage(problems.join('; '))
    if (!rowsOf(database, HAS_TABLE).get('subjects')) return undefined
    const row = rowsOf(database, 'select key from subjects where subject = ?').get(WITNESS)
    return (row as readonly [Uint8Array | null] | undefined)?.[0] ?? undefined
  } finally {
    database.close()
  }
}

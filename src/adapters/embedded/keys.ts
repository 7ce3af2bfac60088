import { randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { LRUCache } from 'lru-cache'
import { refuse } from '../../base/errors.ts'
import type { Binding, EventLog } from '../../events/log.ts'
import type { Keys } from '../../events/personal.ts'
import { opens, unwrap, wrap } from '../key-wrap.ts'
import { LEDGER, type Look, lookAtLog, NOTHING, problemsIn, problemsOf } from './files/look.ts'
import { embeddedLog } from './log.ts'
import { damage, damaged, hasTable, ofFile, openDatabase, rowsOf, withDatabase } from './sqlite.ts'
import type { Channel } from './writer/channel.ts'
import type { Paths } from './writer/protocol.ts'

const CACHED = 10_000
/**
 * Name of the row that checks a key-encryption key; it belongs to no person. If a key-encryption key can decrypt this
 * row, it can decrypt all keys in the table.
 */
const WITNESS = ''

/**
 * Keys of subjects in a file of their own, each wrapped by the key-encryption key (AES-256-GCM). Throws if the stored
 * keys were wrapped by a different key-encryption key. If an operator `accepted` the loss, the keys that it cannot
 * unwrap are moved to `lost_subjects`; erased subjects stay erased.
 */
export const embeddedKeys = async (channel: Channel, kek: Uint8Array, accepted = false): Promise<Keys> => {
  const cache = new LRUCache<string, Uint8Array | 'erased'>({ max: CACHED })

  const remember = (subject: string, wrapped: Uint8Array | null): Uint8Array | 'erased' => {
    const known = cache.get(subject)
    if (known === 'erased') return known
    const key = wrapped === null ? 'erased' : unwrap(kek, subject, wrapped)
    cache.set(subject, key)
    return key
  }
  const make = async (subject: string, given?: Uint8Array) =>
    cache.get(subject) ??
    remember(subject, await channel.call('makeKey', subject, wrap(kek, subject, given ?? randomBytes(32))))

  if (accepted) {
    const witness = await channel.call('findKey', WITNESS)
    if (!witness || !opens(kek, WITNESS, witness)) await channel.call('putKeysAside')
  }
  await make(WITNESS)
  return {
    make,
    find: async (subject) => {
      const known = cache.get(subject)
      if (known !== undefined) return known
      const wrapped = await channel.call('findKey', subject)
      return wrapped === undefined ? undefined : remember(subject, wrapped)
    },
    destroy: async (...subjects) => {
      await channel.call('destroyKeys', subjects)
      await channel.call('scrubKeys')
      for (const subject of subjects) cache.set(subject, 'erased')
    },
    states: async (subjects) => new Map(await channel.call('keyStates', subjects)),
    between: (from, below, most) => channel.call('keysBetween', from, below, most),
    forget: async (subjects) => {
      for (const subject of subjects) cache.set(subject, 'erased')
    },
    close: async () => cache.clear(),
  }
}

/** Binding of the keys to a log, stored in the key database. */
export const embeddedBinding = (channel: Pick<Channel, 'call'>): Binding => ({
  read: async () => {
    const found = await channel.call('readBinding')
    return found && { event: found[0], position: BigInt(found[1]) }
  },
  write: async ({ event, position }) => {
    const [stands, at] = await channel.call('writeBinding', event, Number(position))
    return { event: stands, position: BigInt(at) }
  },
})

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
    const hasEvents = await ofFile(events, () => history && hasTable(history, 'events'))
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
  return withDatabase(path, 'erasing', (database) => {
    const problems = problemsOf(database, path)
    if (problems.length > 0) throw damage(problems.join('; '))
    if (!hasTable(database, 'subjects')) return undefined
    const row = rowsOf(database, 'select key from subjects where subject = ?').get(WITNESS)
    return (row as readonly [Uint8Array | null] | undefined)?.[0] ?? undefined
  })
}

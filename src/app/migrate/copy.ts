import { fail } from '../../base/failure.ts'
import type { OnProgress } from '../../base/progress.ts'
import type { EventLog } from '../../events/log.ts'
import type { Keys } from '../../events/personal.ts'
import { eventsIn } from '../stores/verify-log-and-views.ts'
import { appendRecords, differing, named, verified, zipPages } from './records.ts'

export type Move = {
  /** Compares both stores and counts events without writing. */
  readonly dryRun: boolean
  readonly progress: OnProgress
  readonly signal: AbortSignal
}

/**
 * Result of a migration: number of all events, and of those copied by this run (in a dry run: to be copied). A complete
 * migration adds the streams, the subjects with keys, and the SHA-256 of the history, which is equal on both sides.
 */
export type Moved = {
  readonly events: number
  readonly copied: number
  readonly streams?: number
  readonly subjects?: number
  /** Subjects with encrypted data whose key is missing in the source. */
  readonly lost?: number
  readonly digest?: string
  /** The ledger that the target continues. `sealed`: events that its sealed record covers; undefined without a record. */
  readonly ledger?: {
    readonly origin: string
    readonly sealed: number | undefined
    /** Files of the signing key. Without one the servers have the key. */
    readonly keyFiles: { readonly source: string | undefined; readonly target: string | undefined }
  }
}

type MovedKeys = Pick<Keys, 'make' | 'find' | 'destroy'>

/** Source or target of a migration. */
export type HistoryStore = {
  readonly log: EventLog
  readonly keys: MovedKeys
  readonly pepper: { readonly kid: string; readonly key: Uint8Array }
  /** False for servers, whose positions do not count their events. */
  readonly alone?: boolean
}

/** Number of events of a store. */
export const sizeOf = async ({ alone, log }: Pick<HistoryStore, 'alone' | 'log'>): Promise<number> =>
  alone === false ? eventsIn(log) : Number(await log.head())

/**
 * Returns the number of events in the target, and the position of the last one in the source. Fails unless the events
 * of the target are the first events of the source.
 */
const resumePoint = async (from: EventLog, to: EventLog, onProgress: (done: number) => void, signal: AbortSignal) => {
  let [done, position] = [0, 0n]
  for await (const [ours, theirs] of zipPages(from.readAll(0n), to.readAll(0n))) {
    signal.throwIfAborted()
    if (theirs.length === 0) break
    for (const [n, event] of theirs.entries()) {
      const field = differing(ours[n], event)
      if (field === undefined) continue
      const where = `the source has ${named(ours[n])}, the target has ${named(event)}${field === 'stream' ? '' : ` with a different ${field}`}`
      fail(
        'conflict',
        `The target contains events of a different log: ${where}. Nothing was written.`,
        'Use an empty target, or the target of an interrupted run of this migration.',
      )
    }
    done += theirs.length
    position = ours.at(-1)!.position
    onProgress(done)
  }
  return { done, position }
}

/**
 * Copies the key of each subject. An erased subject is erased in the target too; a lost key is skipped. Returns the
 * number of subjects with a key or an erasure, and the number of subjects whose sealed data has no key.
 */
const copyKeys = async (
  from: MovedKeys,
  to: MovedKeys,
  subjects: ReadonlyMap<string, boolean>,
  signal: AbortSignal,
) => {
  let [moved, lost] = [0, 0]
  for (const [subject, sealed] of subjects) {
    signal.throwIfAborted()
    const key = await from.find(subject)
    if (key === undefined) {
      if (sealed) lost++
      continue
    }
    if (key === 'erased') await to.destroy(subject)
    const there = key === 'erased' ? await to.find(subject) : await to.make(subject, key)
    const same = typeof there === 'object' && typeof key === 'object' ? Buffer.compare(there, key) === 0 : there === key
    if (!same)
      fail(
        'conflict',
        `The encryption key for ${subject} differs between source and target.`,
        'A service has run on the target. Use an empty target.',
      )
    moved++
  }
  return { subjects: moved, ...(lost > 0 && { lost }) }
}

/**
 * Copies a log: ids, streams, revisions, times, data and metadata byte for byte and in order; then the keys of
 * subjects; then verifies both. If the target already contains the first events of the source, the copy continues after
 * them. The source of the migration is unchanged.
 */
export const migrate = async (
  from: HistoryStore,
  to: HistoryStore,
  { dryRun, progress, signal }: Move,
): Promise<Moved> => {
  if (from.pepper.kid !== to.pepper.kid || Buffer.compare(from.pepper.key, to.pepper.key) !== 0)
    fail(
      'conflict',
      'The keys of the target differ from those of the source, so no token of the source would be valid in the target.',
      'Set keys.file of the target to a copy of the key file of the source.',
    )

  const total = await sizeOf(from)
  const tell = (name: string, done: number, of: number) => progress({ name, done, total: of })
  const { done, position } = await resumePoint(
    from.log,
    to.log,
    (done) => tell('checking the target', done, total),
    signal,
  )
  if (dryRun) return { events: total, copied: total - done }

  let there = done
  for await (const page of from.log.readAll(position)) {
    await appendRecords(to.log, page, (events) => {
      tell('copying', (there += events), total)
      signal.throwIfAborted()
    })
  }
  const { subjects, ...proof } = await verified(from.log, to.log, tell, total, signal)
  return { ...proof, copied: there - done, ...(await copyKeys(from.keys, to.keys, subjects, signal)) }
}

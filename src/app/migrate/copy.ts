import type { Move, Moved } from '../../cli/services.ts'
import { isRefusal } from '../../errors.ts'
import type { EventLog, NewEvent, Stored } from '../../events/log.ts'
import type { Keys } from '../../events/personal.ts'
import { fail } from '../../failure.ts'
import { differing, named, verified } from './compare.ts'
import { zipPages } from './zip-pages.ts'

/** A place that history can be moved from or to. Positions of the place it comes from count its events, as the embedded log's do. */
export type HistoryStore = {
  readonly log: EventLog
  readonly keys: Keys
  readonly pepper: { readonly kid: string; readonly key: Uint8Array }
}

/** One append: events that follow each other in one stream, so that the order of the whole log stays as it is. Far below what a server takes at once. */
const EVENTS = 100
const BYTES = 262_144

/** How many events the target has, and the position of the last of them in the source. Fails when it holds anything but the beginning of this very history. */
const resumePoint = async (from: EventLog, to: EventLog, onProgress: (done: number) => void, signal: AbortSignal) => {
  let [done, position] = [0, 0n]
  for await (const [ours, theirs] of zipPages(from.readAll(0n), to.readAll(0n))) {
    signal.throwIfAborted()
    if (theirs.length === 0) break
    for (const [n, event] of theirs.entries()) {
      const field = differing(ours[n], event)
      if (field === undefined) continue
      const where = `where the source has ${named(ours[n])} it has ${named(event)}${field === 'stream' ? '' : `, with another ${field}`}`
      fail(
        'conflict',
        `The target holds other history: ${where}. Nothing was written.`,
        'Move into an empty place, or one that this move began to fill.',
      )
    }
    done += theirs.length
    position = ours.at(-1)!.position
    onProgress(done)
  }
  return { done, position }
}

const runsOf = (page: readonly Stored[]): readonly Stored[][] => {
  const runs: Stored[][] = []
  let bytes = 0
  for (const event of page) {
    const run = runs.at(-1)
    bytes += event.data.length
    if (run && run[0]!.stream === event.stream && run.length < EVENTS && bytes <= BYTES) run.push(event)
    else {
      runs.push([event])
      bytes = event.data.length
    }
  }
  return runs
}

const bare = ({ id, type, time, data, meta }: Stored): NewEvent => ({ id, type, time, data, meta })

const append = async (to: EventLog, run: readonly Stored[]): Promise<void> => {
  const [first, last] = [run[0]!, run.at(-1)!]
  try {
    const { revision, times } = await to.append(
      first.stream,
      run.map(bare),
      first.revision === 0n ? 'none' : first.revision - 1n,
    )
    if (revision !== last.revision || times) fail('check', `The target did not keep ${named(last)} as it was given.`)
  } catch (error) {
    if (!isRefusal(error, 'write_conflict')) throw error
    fail(
      'conflict',
      `The target already has another ${named(first)}.`,
      'Somebody else writes to it: stop every service on the target and begin again.',
    )
  }
}

/**
 * Copies the key of each subject; one that was erased stays erased, and one whose key is lost gets neither a key nor an erasure. Gives how many
 * subjects had a key or were erased, and of how many there is sealed data that nothing opens.
 */
const copyKeys = async (from: Keys, to: Keys, subjects: ReadonlyMap<string, boolean>, signal: AbortSignal) => {
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
        `The target has another key for subject ${subject}.`,
        'A service has run on it: move into an empty place.',
      )
    moved++
  }
  return { subjects: moved, ...(lost > 0 && { lost }) }
}

/**
 * Copies history from one place to another, ids, streams, revisions, times, data and meta byte for byte and in the same order, then the keys of
 * subjects, and proves both. What stands in the target already must be the beginning of the same history: then it goes on behind it. The source is never changed.
 */
export const migrate = async (
  from: HistoryStore,
  to: HistoryStore,
  { dryRun, progress, signal }: Move,
): Promise<Moved> => {
  if (from.pepper.kid !== to.pepper.kid || Buffer.compare(from.pepper.key, to.pepper.key) !== 0)
    fail(
      'conflict',
      'The target has other keys than the source: no token would work there.',
      'Set keys.file of the target to a copy of the key file of the source.',
    )

  const total = Number(await from.log.head())
  const tell = (name: string, done: number, of: number) => progress({ name, done, total: of })
  const { done, position } = await resumePoint(
    from.log,
    to.log,
    (done) => tell('looking at the target', done, total),
    signal,
  )
  if (dryRun) return { events: total, copied: total - done }

  let there = done
  for await (const page of from.log.readAll(position)) {
    for (const run of runsOf(page)) {
      signal.throwIfAborted()
      await append(to.log, run)
      tell('copying', (there += run.length), total)
    }
  }
  const { subjects, ...proof } = await verified(from.log, to.log, tell, total, signal)
  return { ...proof, copied: there - done, ...(await copyKeys(from.keys, to.keys, subjects, signal)) }
}

import { createHash } from 'node:crypto'
import { isRefusal } from '../../base/errors.ts'
import { fail } from '../../base/failure.ts'
import type { EventLog, Stored } from '../../events/log.ts'

type Events = readonly Stored[]

/**
 * Pairs the pages of two logs: both pages of a pair have the same length. The surplus of the longer log comes last,
 * paired with empty pages.
 */
export async function* zipPages(
  left: AsyncIterable<Events>,
  right: AsyncIterable<Events>,
): AsyncGenerator<readonly [Events, Events]> {
  const [ours, theirs] = [left[Symbol.asyncIterator](), right[Symbol.asyncIterator]()]
  const more = async (has: Events, from: AsyncIterator<Events>): Promise<Events> => {
    if (has.length > 0) return has
    const { value, done } = await from.next()
    return done ? [] : value
  }
  let [a, b]: [Events, Events] = [[], []]
  try {
    for (;;) {
      a = await more(a, ours)
      b = await more(b, theirs)
      const both = Math.min(a.length, b.length)
      if (both === 0) {
        if (a.length + b.length > 0) yield [a, b]
        return
      }
      yield [a.slice(0, both), b.slice(0, both)]
      a = a.slice(both)
      b = b.slice(both)
    }
  } finally {
    await ours.return?.()
    await theirs.return?.()
  }
}

const STREAMS_AT_ONCE = 16
const FIELDS = ['stream', 'revision', 'id', 'type', 'time', 'data', 'meta'] as const
/** The first field in which two events differ; undefined if they are equal. */
export const differing = (a: Stored | undefined, b: Stored | undefined) =>
  FIELDS.find((field) => a?.[field] !== b?.[field])
/** Name of an event in messages. */
export const named = (event: Stored | undefined) => (event ? `event ${event.revision} of ${event.stream}` : 'nothing')

const alike = (ours: readonly Stored[], theirs: readonly Stored[]): void => {
  for (let n = 0; n < Math.max(ours.length, theirs.length); n++) {
    const field = differing(ours[n], theirs[n])
    if (field !== undefined)
      fail(
        'check',
        `The target differs from the source: ${named(ours[n])} in the source, ${named(theirs[n])} in the target, first difference in ${field}.`,
      )
  }
}

/** The subjects that an event names, each with true if the event contains data sealed for it. */
const subjectsIn = function* ({ data, meta }: Stored): Generator<readonly [subject: string, sealed: boolean]> {
  for (const text of [data, meta]) {
    for (const [, encoded] of text.matchAll(/sealed\.1\.([\w-]+)\./g))
      yield [Buffer.from(encoded!, 'base64url').toString(), true]
    for (const [, quoted] of text.matchAll(/"subject":("(?:[^"\\]|\\.)*")/g))
      yield [JSON.parse(quoted!) as string, false]
  }
}

/** Compares the two logs: event by event in order, then each stream read separately. */
export const verified = async (
  from: EventLog,
  to: EventLog,
  progress: (name: string, done: number, total: number) => void,
  total: number,
  signal: AbortSignal,
) => {
  const digest = createHash('sha256')
  const [streams, subjects] = [new Set<string>(), new Map<string, boolean>()]
  let events = 0
  for await (const [ours, theirs] of zipPages(from.readAll(0n), to.readAll(0n))) {
    signal.throwIfAborted()
    alike(ours, theirs)
    for (const event of ours) {
      digest.update(`${JSON.stringify(FIELDS.map((field) => String(event[field])))}\n`)
      streams.add(event.stream)
      for (const [subject, sealed] of subjectsIn(event)) subjects.set(subject, sealed || subjects.get(subject) === true)
    }
    progress('comparing', (events += ours.length), total)
  }
  const names = [...streams]
  for (let n = 0; n < names.length; n += STREAMS_AT_ONCE) {
    signal.throwIfAborted()
    const some = names.slice(n, n + STREAMS_AT_ONCE)
    await Promise.all(
      some.map(async (stream) => {
        for await (const [ours, theirs] of zipPages(from.read(stream), to.read(stream))) alike(ours, theirs)
      }),
    )
    progress('comparing streams', n + some.length, names.length)
  }
  return { events, digest: digest.digest('hex'), streams: names.length, subjects }
}

/**
 * Maximum events and bytes of one append. An append has consecutive events of one stream, so that the order of the log
 * is preserved. Far below the limits of a server.
 */
const EVENTS = 100
const BYTES = 262_144

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

const append = async (to: EventLog, run: readonly Stored[]): Promise<void> => {
  const [first, last] = [run[0]!, run.at(-1)!]
  try {
    const { revision, times } = await to.append(
      first.stream,
      run.map(({ id, type, time, data, meta }) => ({ id, type, time, data, meta })),
      first.revision === 0n ? 'none' : first.revision - 1n,
    )
    if (revision !== last.revision || times) fail('check', `The target did not store ${named(last)} unchanged.`)
  } catch (error) {
    if (!isRefusal(error, 'write_conflict')) throw error
    fail(
      'conflict',
      `The target already contains a different event at the position of ${named(first)}.`,
      'Another process writes to the target: stop every service on the target and start the migration again.',
    )
  }
}

/**
 * Appends records to a log: ids, streams, revisions, times, data and metadata byte for byte and in order. `onRun`
 * receives the number of events of each append.
 */
export const appendRecords = async (
  to: EventLog,
  page: readonly Stored[],
  onRun: (events: number) => void = () => undefined,
): Promise<void> => {
  for (const run of runsOf(page)) {
    await append(to, run)
    onRun(run.length)
  }
}

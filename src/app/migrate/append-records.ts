import { isRefusal } from '../../base/errors.ts'
import { fail } from '../../base/failure.ts'
import type { EventLog, NewEvent, Stored } from '../../events/log.ts'
import { named } from './compare.ts'

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

const bare = ({ id, type, time, data, meta }: Stored): NewEvent => ({ id, type, time, data, meta })

const append = async (to: EventLog, run: readonly Stored[]): Promise<void> => {
  const [first, last] = [run[0]!, run.at(-1)!]
  try {
    const { revision, times } = await to.append(
      first.stream,
      run.map(bare),
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

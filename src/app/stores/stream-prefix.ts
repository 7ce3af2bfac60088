import type { EventStore } from '../../adapters/eventstoredb/open.ts'
import { fail } from '../../base/failure.ts'

/**
 * Fails if EventStoreDB has events under another prefix and none under this one. A new history in addition to the old
 * one would look like the loss of all data.
 */
export const insistOnPrefix = async (log: EventStore, prefix: string): Promise<void> => {
  const other = (await log.first()) === undefined ? await log.otherPrefix() : undefined
  if (other === undefined) return
  const [theirs, ours] = [other, prefix].map((each) =>
    each === '' ? 'without a prefix' : `under the prefix "${each}"`,
  )
  fail(
    'failed',
    `EventStoreDB has events ${theirs} and no events ${ours}.`,
    `To use those events, set eventstore.stream_prefix: '${other}'. To start a second history, set eventstore.shared: true.`,
  )
}

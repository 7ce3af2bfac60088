import type { EventStore } from '../../adapters/eventstoredb/open.ts'
import { fail } from '../../failure.ts'

/** Fails where the store has a history under another prefix and none under this one: to begin another beside it would look like a loss of everything. */
export const insistOnPrefix = async (log: EventStore, prefix: string): Promise<void> => {
  const other = (await log.first()) === undefined ? await log.otherPrefix() : undefined
  if (other === undefined) return
  const [theirs, ours] = [other, prefix].map((each) =>
    each === '' ? 'without a prefix' : `under the prefix "${each}"`,
  )
  fail(
    'failed',
    `EventStoreDB has a history ${theirs} and none ${ours}.`,
    `To go on with it set eventstore.stream_prefix: '${other}'. To begin another beside it set eventstore.shared: true.`,
  )
}

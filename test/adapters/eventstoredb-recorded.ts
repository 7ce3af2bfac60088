import type { ResolvedEvent } from '@eventstore/db-client'

/** An event of the log as returned by the driver, the only one at its position. */
export const recordedAt = (position: bigint): ResolvedEvent => ({
  event: {
    streamId: 'test-1',
    id: String(position),
    type: 'Happened',
    revision: position - 1n,
    isJson: true,
    data: {},
    metadata: {},
    created: new Date(0),
    position: { commit: position, prepare: position },
  },
})

import { type DataOf, reader } from '../events/define.ts'
import { type RefusalEvent, refusalEvents } from '../events/refusal.ts'
import type { Decider } from './decider.ts'

export type RefusalCommands = {
  RecordRefusals: {
    readonly refusals: readonly DataOf<RefusalEvent, 'AuthenticationRefused'>[]
    readonly summary?: DataOf<RefusalEvent, 'RefusalsSummarised'> | undefined
    readonly begun?: DataOf<RefusalEvent, 'LoginsBegun'> | undefined
  }
}

/** Decider of a batch of refusals. Each batch has its own stream and is recorded once, even if repeated. */
export const refusal: Decider<{ readonly recorded: boolean }, RefusalCommands, RefusalEvent> = {
  category: 'refusal',
  shapes: refusalEvents,
  read: reader(refusalEvents),
  initial: { recorded: false },
  exists: ({ recorded }) => recorded,
  decide: {
    RecordRefusals: ({ recorded }, { refusals, summary, begun }) =>
      recorded
        ? []
        : [
            ...refusals.map((data) => ({ type: 'AuthenticationRefused', data }) as const),
            ...(summary ? [{ type: 'RefusalsSummarised', data: summary } as const] : []),
            ...(begun ? [{ type: 'LoginsBegun', data: begun } as const] : []),
          ],
  },
  evolve: {
    AuthenticationRefused: () => ({ recorded: true }),
    RefusalsSummarised: () => ({ recorded: true }),
    LoginsBegun: () => ({ recorded: true }),
  },
}

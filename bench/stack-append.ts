import { openEventStore } from '../src/adapters/eventstoredb/open.ts'
import { systemClock } from '../src/base/clock.ts'
import { settingsOn } from '../test/cluster/named-servers.ts'
import { writers } from './log-append.ts'
import { newStore } from './log-store.ts'
import { alternate, progress, told } from './measure.ts'
import { eventStore, having } from './stack.ts'

/** Category of the appended streams. Their prefix belongs to no deployment, so no service reads them. */
const CATEGORY = 'bench'

/** S1: the same appends to EventStoreDB and to the embedded log, in turns. */
export const run = () =>
  having('S1', eventStore, async ({ url, what }, owner) => {
    progress(`S1: appends on ${what}, beside the embedded log`)
    const failed = (job: string, error: unknown) => progress(`${job}: ${String(error)}`)
    const prefix = settingsOn({ eventstore: url }, owner)['eventstore.stream_prefix']!
    const log = await openEventStore(url, { clock: systemClock, prefix, categories: [CATEGORY], onError: failed })
    owner.teardown(log.close)
    const embedded = await newStore()
    owner.teardown(embedded.done)
    const rate = await alternate(
      {
        one: writers(log, 1, CATEGORY),
        oneEmbedded: writers(embedded.log, 1, CATEGORY),
        many: writers(log, 64, CATEGORY),
        manyEmbedded: writers(embedded.log, 64, CATEGORY),
      },
      { rounds: 5 },
    )
    const ratio = (id: string, name: string, theirs: number, ours: number) =>
      told(
        id,
        `${name} / the same to the embedded log`,
        (theirs / ours).toPrecision(2),
        `${Math.round(theirs)}/s against ${Math.round(ours)}/s; ${what}`,
      )
    return [
      ratio('S1', 'single append through the EventStoreDB adapter', rate.one, rate.oneEmbedded),
      ratio('S1', '64 concurrent appends through the EventStoreDB adapter', rate.many, rate.manyEmbedded),
    ]
  })

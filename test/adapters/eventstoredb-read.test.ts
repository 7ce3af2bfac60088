import type { EventStoreDBClient, ReadAllOptions, ResolvedEvent, StreamingRead } from '@eventstore/db-client'
import t from 'tap'
import { systemClock } from '../../src/clock.ts'
import type { Connection } from '../../src/adapters/eventstoredb/connection.ts'
import { ownOf } from '../../src/adapters/eventstoredb/event.ts'
import { reader } from '../../src/adapters/eventstoredb/read.ts'
import { collect, refused } from '../contracts/log.ts'

const at = (position: bigint): ResolvedEvent => ({
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

/** A reader whose every read of the log is answered here. */
const answeredBy = (answer: (options: ReadAllOptions) => readonly ResolvedEvent[], patience: number) => {
  const gather: Connection['gather'] = async (_, start, take) => {
    let asked: ReadAllOptions = {}
    const client = { readAll: (options: ReadAllOptions) => void (asked = options) }
    start(client as unknown as EventStoreDBClient) satisfies StreamingRead<ResolvedEvent>
    for (const item of answer(asked)) if (take(item)) return
  }
  return reader({ gather } as unknown as Connection, ownOf('', new Set(['test'])), {
    clock: systemClock,
    patience,
    quick: patience,
  })
}
const isBackwards = ({ direction }: ReadAllOptions) => direction === 'backwards'

void t.test(
  'a node that does not know the head yet is asked again with pauses, and never makes the log shorter',
  async (t) => {
    let asked = 0
    const read = answeredBy((options) => (isBackwards(options) ? [at(7n)] : (asked++, [])), 600)
    await refused(t, collect(read.readAll(0n)), 'backend_unavailable')
    t.ok(asked > 1 && asked < 15, `${asked} times`)
  },
)

void t.test('a failure in the middle of the log is no reason to search the log for the place', async (t) => {
  let [searches, failures] = [0, 0]
  const read = answeredBy((options) => {
    if (isBackwards(options)) {
      searches++
      return [at(1500n)]
    }
    const from = typeof options.fromPosition === 'object' ? options.fromPosition.commit : 1n
    if (from > 1n && failures++ === 0)
      throw Object.assign(new Error('No leader info available'), { type: 'unknown', code: 2 })
    return Array.from({ length: 1000 }, (_, n) => at(from + BigInt(n))).filter(
      ({ event }) => event!.position!.commit <= 1500n,
    )
  }, 5000)
  t.equal((await collect(read.readAll(0n))).length, 1500)
  t.same([failures > 0, searches], [true, 1], 'the head was looked for, and nothing else')
})

void t.test('a log that became shorter says so, and a read begun before is not made shorter by it', async (t) => {
  let positions = [9n, 8n, 7n]
  const read = answeredBy((options) => (isBackwards(options) ? positions.map(at) : []), 300)
  t.equal(await read.head(), 9n)
  positions = [7n, 6n]
  t.equal(await read.head(), 7n, 'put back to an older copy')
  await refused(t, collect(read.readAll(7n, 9n)), 'backend_unavailable')
  positions = [11n, 10n, 7n]
  t.equal(await read.head(), 11n)
  positions = []
  t.equal(await read.head(), 0n, 'emptied')
})

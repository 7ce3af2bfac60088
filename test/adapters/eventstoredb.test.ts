import t from 'tap'
import { openEventStore } from '../../src/adapters/eventstoredb/open.ts'
import { systemClock } from '../../src/base/clock.ts'
import { settingsOn } from '../cluster/named-servers.ts'
import { logContract } from '../contracts/log.ts'
import { startEventStore } from '../stand-ins/eventstoredb/server.ts'

const categories = ['test']
const onError = (job: string, error: unknown) => t.fail(`${job} failed`, { error })

void t.test('the simulated EventStoreDB passes the shared tests of every event log', async (t) =>
  logContract(t, async (t) => {
    const server = await startEventStore()
    t.teardown(() => server.kill())
    return { open: () => openEventStore(server.url, { clock: systemClock, categories, onError }) }
  }),
)

const real = process.env['ROLLCALL_TEST_EVENTSTORE_URL']
if (real === undefined)
  t.comment(
    'Log on EventStoreDB ran on the stand-in only; for a real server start one and set ROLLCALL_TEST_EVENTSTORE_URL=esdb://127.0.0.1:2113?tls=false',
  )
else
  void t.test('a real EventStoreDB server passes the shared tests of every event log', async (t) =>
    logContract(t, async (t) => {
      const prefix = settingsOn({ eventstore: real }, t)['eventstore.stream_prefix']!
      return { open: () => openEventStore(real, { clock: systemClock, prefix, categories, onError }) }
    }),
  )

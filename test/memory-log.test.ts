import t from 'tap'
import { logContract } from './contracts/log.ts'
import { memoryStore } from './memory-log.ts'

void t.test('the event log in memory passes the shared tests of every event log', async (t) =>
  logContract(t, async () => {
    const { open } = memoryStore({ pageSize: 1000 })
    return { open: async () => open() }
  }),
)

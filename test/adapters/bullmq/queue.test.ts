import t from 'tap'
import { queueContract } from '../../contracts/queue.ts'
import { redisAddresses } from '../servers.ts'
import { contractedQueue } from './store.ts'

for (const { name, skip, ...at } of await redisAddresses(t))
  await t.test(`the job queue on ${name} passes the shared tests of every queue`, { skip }, async (t) =>
    queueContract(t, async (t) => contractedQueue(t, { url: 'url' in at ? at.url : '' })),
  )

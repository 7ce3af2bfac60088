import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { redisAddresses } from '../servers.ts'
import { sharedQueue } from './store.ts'

for (const { name, skip, ...at } of await redisAddresses(t))
  await t.test(`instances with unequal intervals do not run a job all the time, on ${name}`, { skip }, async (t) => {
    const { open } = sharedQueue('url' in at ? at.url : '', 600_000)
    const queues = [await open(), await open()]
    t.teardown(() => Promise.all(queues.map((queue) => queue.close())))
    let runs = 0
    for (const [n, queue] of queues.entries())
      await queue.schedule({ name: 'tidy', every: (n + 1) * 600_000, run: async () => void runs++ })
    await pause(6000)
    t.ok(runs >= 1 && runs <= 3, `${runs} runs`)
  })

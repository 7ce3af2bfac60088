import t from 'tap'
import { eventually } from '../../wait.ts'
import { redisAddresses } from '../servers.ts'
import { stepped } from './stepped.ts'

for (const { name, skip, ...at } of await redisAddresses(t))
  await t.test(
    `on ${name}, instances with different job intervals do not change each other's schedule`,
    { skip },
    async (t) => {
      const { open, schedule, look, turns, errors } = stepped('url' in at ? at.url : '', 600_000)
      const queues = [await open(), await open()]
      t.teardown(() => Promise.all(queues.map((queue) => queue.close())))
      let runs = 0
      const { queue: tidy, end } = turns('tidy')
      t.teardown(end)
      const every = async () => (await tidy.getJobScheduler('tidy'))?.every
      for (const [n, queue] of queues.entries()) {
        await schedule({ name: 'tidy', every: (n + 1) * 600_000, run: async () => void runs++ }, queue)
        t.equal(await every(), (n + 1) * 600_000, 'who was configured last says the interval')
      }
      await eventually(async () => (await tidy.getDelayedCount()) === 1 && (await tidy.getActiveCount()) === 0, 'rest')
      const [first, next] = [runs, (await tidy.getDelayed())[0]!]
      await look(10)
      t.equal(await every(), 1_200_000)
      t.same(
        (await tidy.getDelayed()).map(({ id }) => id),
        [next.id],
        'the next turn is the same',
      )
      await next.promote()
      await eventually(() => runs > first, 'the next turn')
      await look(10)
      t.equal(runs, first + 1, 'and one run')
      t.same(errors, [])
    },
  )

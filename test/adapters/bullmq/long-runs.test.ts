import { Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import t from 'tap'
import { missedTurn } from '../../../src/adapters/redis/queue-view.ts'
import { eventually } from '../../wait.ts'
import { ownRedis } from '../servers.ts'
import { LOOK_MS, stepped } from './stepped.ts'

const { server, skip } = await ownRedis(t)
const EVERY = 600_000
const GRACE = 3000

/** Number of requested missed runs. */
const askedFor = async (turns: Queue) => {
  const all = await turns.getJobs()
  return all.filter(({ id }) => id?.startsWith('missed-')).length
}

await t.test(
  'after a job run that lasts longer than its interval, Redis schedules exactly one next run',
  { skip },
  async (t) => {
    const { open, schedule, look, sleep, turns, errors } = stepped(server!.url, GRACE)
    const queues = [await open(), await open(), await open()]
    t.teardown(() => Promise.all(queues.map((queue) => queue.close())))
    const { queue: slow, end } = turns('slow')
    t.teardown(end)
    const runs: (() => void)[] = []
    const run = () => new Promise<void>((end) => runs.push(end))
    await schedule({ name: 'slow', every: EVERY, run }, ...queues)
    await eventually(() => runs.length === 1, 'the first run')
    for (let n = 0; n < 4; n++) {
      sleep(EVERY / 2)
      await look()
    }
    t.equal(runs.length, 1, 'while it runs nobody begins another')
    runs[0]!()
    const ended = async () => (await queues[0]!.runs())[0]?.finishedAt !== undefined
    await eventually(ended, 'its end')
    await look(GRACE / LOOK_MS - 1)
    t.equal(runs.length, 1, 'nobody runs it in the time that Redis has to give the next turn')
    await look()
    t.equal(await askedFor(slow), 1)
    await eventually(() => runs.length === 2, 'the turn that was missed')
    await look(10)
    t.equal(runs.length, 2, 'and one run comes of it')
    runs[1]!()
    await look(10)
    t.equal(runs.length, 2, 'whose end begins no other')
    t.same(errors, [])
  },
)

await t.test(
  'a job run that is late by its interval and a grace period counts as missed, and runs once',
  { skip },
  async (t) => {
    const { open, schedule, look, sleep, turns, errors } = stepped(server!.url, GRACE)
    const queues = [await open(), await open(), await open()]
    t.teardown(() => Promise.all(queues.map((queue) => queue.close())))
    const { queue: quick, end } = turns('quick')
    t.teardown(end)
    let runs = 0
    await schedule({ name: 'quick', every: EVERY, run: async () => void runs++ }, ...queues)
    await eventually(() => runs === 1, 'the first run')
    await look()
    for (let missed = 1; missed <= 5; missed++) {
      /** Time in ms by which a query comes too early. */
      const early = missed % 2
      sleep(EVERY - early)
      await look(GRACE / LOOK_MS - 2 + early)
      t.same([runs, await askedFor(quick)], [missed, missed - 1], 'it is not due')
      await look()
      t.equal(await askedFor(quick), missed)
      await eventually(() => runs > missed, 'the turn that was missed')
      await look()
      t.equal(runs, missed + 1, 'one run')
    }
    t.same(errors, [])
  },
)

await t.test('if two instances request the same missed job run, it runs once', { skip }, async (t) => {
  const options = { connection: new Redis(server!.url, { maxRetriesPerRequest: null }), prefix: '{missed}' }
  const turns = new Queue('tidy', options)
  const runs: (string | undefined)[] = []
  const worker = new Worker('tidy', async ({ id }) => void runs.push(id), options)
  const done: string[] = []
  worker.on('completed', ({ id }) => done.push(id!))
  await turns.add('tidy', {}, missedTurn('tidy', 1))
  await eventually(() => done.length === 1, 'the turn')
  await turns.add('tidy', {}, missedTurn('tidy', 1))
  await turns.add('tidy', {}, missedTurn('tidy', 2))
  await eventually(() => done.includes('missed-tidy-2'), 'the next one')
  t.same(runs, ['missed-tidy-1', 'missed-tidy-2'])
  await worker.close()
  await turns.close()
  options.connection.disconnect()
})

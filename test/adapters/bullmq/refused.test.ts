import { Worker } from 'bullmq'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { eventually } from '../../wait.ts'
import { redisCluster } from '../redis-topologies.ts'
import { ownRedis } from '../servers.ts'
import { LOOK_MS, stepped } from './stepped.ts'

const { server, skip } = await ownRedis(t)
const cluster = await redisCluster(t)
const BACK_OFF_MS = 2000
const EVERY = 600_000
/** Number of key commands of one query. */
const REFUSED_A_LOOK = 3

/**
 * Returns true if a worker is paused and all other calls are answered: its timer is longer than those of queries and
 * answers.
 */
const heldBack = (waiting: readonly number[]) => waiting.length === 2 && waiting[1]! > LOOK_MS

/** Number of calls that a server refused. */
const refusals = async (redis: Redis): Promise<number> =>
  Number(/total_error_replies:(\d+)/.exec(await redis.info('stats'))?.[1])

/** Counts calls of this method of BullMQ workers from now on. */
const calls = (t: Test, name: 'pause' | 'resume') => {
  let times = 0
  const before = Reflect.get(Worker.prototype, name) as (...args: readonly unknown[]) => unknown
  const counting = function (this: Worker, ...args: readonly unknown[]) {
    times++
    return Reflect.apply(before, this, args)
  }
  Reflect.set(Worker.prototype, name, counting)
  t.teardown(() => Reflect.set(Worker.prototype, name, before))
  return () => times
}

await t.test('a worker that Redis refuses retries after 2 s, and then runs its jobs', { skip }, async (t) => {
  const redis = new Redis(server!.url)
  const [held, letGo] = [calls(t, 'pause'), calls(t, 'resume')]
  const { clock, open, schedule, look, sleep, turns, faults, errors } = stepped(server!.url)
  const queue = await open()
  const { queue: tidy, end } = turns('tidy')
  let runs = 0
  await schedule({ name: 'tidy', every: EVERY, run: async () => void runs++ }, queue)
  await eventually(() => runs === 1, 'the first run')
  await look()
  t.same(faults, [])
  const next = await eventually(async () => (await tidy.getDelayed())[0], 'the next turn')
  await next.promote()
  await eventually(() => runs === 2, 'the second')
  await redis.config('SET', 'maxmemory', '1')
  const isHeldBack = () => heldBack(clock.waiting())
  await eventually(isHeldBack, 'the worker to be held back')
  t.match(faults[0], { message: /^OOM/ })
  for (let round = 1; round <= 3; round++) {
    t.same(clock.waiting(), [LOOK_MS, BACK_OFF_MS], 'the next look, and the worker')
    const [refused, told] = [await refusals(redis), faults.length]
    await clock.advance(BACK_OFF_MS - 1)
    t.same([await refusals(redis), faults.length], [refused, told], 'nothing is asked for meanwhile')
    t.same([held(), letGo()], [round, round - 1])
    await clock.advance(1)
    t.same([held(), letGo()], [round, round], 'after two seconds it goes on')
    await eventually(isHeldBack, 'the next refusal')
    t.ok(faults.length > told, 'it is told')
  }
  /** Lets the interval pass and queries Redis until the job has run again. */
  const goesOn = async (when: string) => {
    const before = runs
    sleep(EVERY)
    await eventually(async () => {
      await clock.advance(LOOK_MS)
      return runs > before
    }, when)
  }
  await goesOn('a run meanwhile')
  await redis.config('SET', 'maxmemory', '0')
  await eventually(async () => {
    await clock.advance(LOOK_MS)
    return clock.waiting().length === 1
  }, 'a worker that is not held back')
  const told = faults.length
  await goesOn('a run afterwards')
  t.notMatch(faults.slice(told).map(String).join(), /OOM/, 'nothing is refused any more')
  t.same(errors, [])
  redis.disconnect()
  await end()
  await queue.close()
})

await t.test(
  'jobs run although a cluster node is configured as if it were a single Redis server',
  { skip: cluster.skip },
  async (t) => {
    let strangers = 0
    for (const { url } of cluster.topology!.servers) {
      const redis = new Redis(url)
      /** Two of the three nodes do not have the slot of the keys. */
      const { clock, keys, open, sleep, faults } = stepped(url, 3000, 'refused')
      const own = await redis.exists(`${keys}:runs`).then(
        () => true,
        () => false,
      )
      const queue = await open()
      let runs = 0
      await queue.schedule({ name: 'tidy', every: EVERY, run: async () => void runs++ })
      await eventually(() => runs === 1, 'the first run')
      if (!own) {
        strangers++
        await eventually(() => heldBack(clock.waiting()), 'the worker to be held back')
        t.match(faults[0], { message: /^MOVED/ })
        t.same(clock.waiting(), [LOOK_MS, BACK_OFF_MS], 'the next look, and the worker')
        const before = await refusals(redis)
        await clock.advance(BACK_OFF_MS - 1)
        await eventually(() => clock.waiting().length === 2, 'the answers to one look')
        t.equal((await refusals(redis)) - before, REFUSED_A_LOOK, 'only the look is refused meanwhile')
        sleep(EVERY)
        const goesOn = async () => {
          await clock.advance(LOOK_MS)
          return runs === 2
        }
        await eventually(goesOn, 'the next run')
      }
      await queue.close()
      redis.disconnect()
    }
    t.equal(strangers, 2)
  },
)

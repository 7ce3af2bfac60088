import { Redis } from 'ioredis'
import t from 'tap'
import { noted } from '../../noted.ts'
import { eventually } from '../../wait.ts'
import { ownRedis } from '../servers.ts'
import { stepped } from './stepped.ts'

const { server, skip } = await ownRedis(t)
const EVERY = 600_000
const GRACE = 3000

/** An instance whose job has run once, on a Redis that hangs from then on. */
const hanging = async () => {
  const world = stepped(server!.url)
  const queue = await world.open()
  let runs = 0
  await world.schedule({ name: 'tick', every: EVERY, run: async () => void runs++ }, queue)
  await eventually(async () => (await queue.runs())[0]?.finishedAt !== undefined, 'its first run')
  await world.answered()
  server!.freeze()
  return { ...world, queue, runs: () => runs }
}

await t.test('a closing instance waits 1 s for its last job runs while Redis hangs', { skip }, async (t) => {
  const { clock, queue } = await hanging()
  const asked = noted(queue.runs())
  await clock.advance(999)
  t.same(asked, [])
  await clock.advance(1)
  t.match(asked, [[{ name: 'tick', finishedAt: Number }]], 'and this instance tells what it knows')
  server!.thaw()
  await queue.close()
})

await t.test('closing the job queue takes half a second while Redis hangs', { skip }, async (t) => {
  const { clock, queue } = await hanging()
  const closing = queue.close()
  const closed = noted(closing)
  await clock.advance(499)
  t.same(closed, [], 'it may answer')
  await clock.advance(1)
  t.same(closed, [undefined])
  await clock.advance(10_000)
  await closing
  t.same(clock.waiting(), [])
  server!.thaw()
})

/** Interval in ms of queries to a hanging Redis: a query times out when the next is due. */
const LOOKS_MS = 2000
for (const [early, runs] of [
  [0, 2],
  [1, 1],
] as const)
  await t.test(
    `while Redis hangs, a job has run ${runs} times ${early} ms before its run counts as late`,
    { skip },
    async (t) => {
      const world = await hanging()
      world.sleep(EVERY + GRACE - LOOKS_MS - early)
      await world.clock.advance(LOOKS_MS - 1)
      t.equal(world.runs(), 1)
      await world.clock.advance(1)
      t.equal(world.runs(), runs)
      server!.thaw()
      await world.queue.close()
    },
  )

await t.test('while Redis hangs, a job that needs no Redis runs at each interval', { skip }, async (t) => {
  const { clock, queue, runs, sleep } = await hanging()
  sleep(EVERY + GRACE)
  await clock.advance(LOOKS_MS)
  t.equal(runs(), 2)
  sleep(EVERY - LOOKS_MS)
  await clock.advance(LOOKS_MS - 1)
  t.equal(runs(), 2)
  await clock.advance(1)
  t.equal(runs(), 3)
  sleep(EVERY - LOOKS_MS - 1)
  await clock.advance(LOOKS_MS)
  t.equal(runs(), 3, 'a millisecond before its interval is over')
  await clock.advance(LOOKS_MS)
  t.equal(runs(), 4)
  server!.thaw()
  await queue.close()
})

for (const [age, anew] of [
  [5000, 0],
  [5001, 1],
] as const)
  await t.test(
    `a connection to Redis without an answer for ${age} ms is replaced ${anew} times`,
    { skip },
    async (t) => {
      const leave = Reflect.get(Redis.prototype, 'disconnect')
      let times = 0
      const counting = function (this: Redis, reconnect = false) {
        if (reconnect) times++
        return Reflect.apply(leave, this, [reconnect])
      }
      Reflect.set(Redis.prototype, 'disconnect', counting)
      t.teardown(() => Reflect.set(Redis.prototype, 'disconnect', leave))
      const { clock, queue, sleep } = await hanging()
      // The first unanswered query; the next is due when it times out.
      await clock.advance(LOOKS_MS / 2)
      sleep(age - LOOKS_MS)
      await clock.advance(LOOKS_MS - 1)
      t.equal(times, 0)
      await clock.advance(1)
      t.equal(times, anew)
      server!.thaw()
      await queue.close()
    },
  )

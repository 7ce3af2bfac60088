import t from 'tap'
import { noted } from '../../noted.ts'
import { eventually } from '../../wait.ts'
import { ownRedis } from '../servers.ts'
import { stepped } from './stepped.ts'

const { server, skip } = await ownRedis(t)
const EVERY = 600_000

/** An instance whose job has run once, on a Redis that hangs from now on. */
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

await t.test('a Redis that hangs is asked for one second what ran last', { skip }, async (t) => {
  const { clock, queue } = await hanging()
  const asked = noted(queue.runs())
  await clock.advance(999)
  t.same(asked, [])
  await clock.advance(1)
  t.match(asked, [[{ name: 'tick', finishedAt: Number }]], 'and this instance tells what it knows')
  server!.thaw()
  await queue.close()
})

await t.test('an end waits for a Redis that hangs for half a second', { skip }, async (t) => {
  const { clock, queue } = await hanging()
  const closing = queue.close()
  const closed = noted(closing)
  await clock.advance(499)
  t.same(closed, [], 'it may answer')
  await clock.advance(1)
  await closing
  t.same(clock.waiting(), [])
  server!.thaw()
})

await t.test('a job runs while Redis hangs, its interval and the grace after its last run', { skip }, async (t) => {
  const { clock, queue, runs, sleep } = await hanging()
  sleep(EVERY)
  await clock.advance(3999)
  t.equal(runs(), 1)
  await clock.advance(1)
  t.equal(runs(), 2)
  sleep(EVERY - 2000)
  await clock.advance(1999)
  t.equal(runs(), 2)
  await clock.advance(1)
  t.equal(runs(), 3, 'and then once an interval')
  server!.thaw()
  await queue.close()
})

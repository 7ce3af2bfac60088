import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import t from 'tap'
import { eventually } from '../../wait.ts'
import { ownRedis } from '../servers.ts'
import { sharedQueue } from './store.ts'

const { server, skip } = await ownRedis(t)
const EVERY = 300
const GRACE = 300
const admin = () => new Redis(server!.url)

/** A job that counts its runs on an open queue. */
const counting = async () => {
  const store = sharedQueue(server!.url, GRACE)
  const queue = await store.open()
  let runs = 0
  await queue.schedule({ name: 'tick', every: EVERY, run: async () => void runs++ })
  /** Waits for this number of further runs. */
  const more = (count: number) => {
    const enough = runs + count
    return eventually(() => runs >= enough, `${count} more runs`)
  }
  return { ...store, queue, more }
}

await t.test(
  'scheduled jobs run while Redis is down, and use Redis again after it restarts empty',
  { skip },
  async (t) => {
    const { queue, more, errors, faults, keys } = await counting()
    t.ok(await more(2), 'before')
    await server!.kill()
    t.ok(await more(3), 'without Redis')
    t.match(await queue.runs(), [{ name: 'tick', finishedAt: Number }])
    await server!.start()
    t.ok(await more(5), 'afterwards')
    t.same(errors, [], 'no run of the job failed')
    t.match(String(faults), /ECONNREFUSED/, 'and the outage is told of')
    const redis = admin()
    t.ok(await redis.exists(`${keys}:tick:repeat`), 'the schedule is there again')
    redis.disconnect()
    await queue.close()
  },
)

await t.test('scheduled jobs continue after all data in Redis was deleted', { skip }, async (t) => {
  const { queue, more, keys } = await counting()
  t.ok(await more(2), 'before')
  const redis = admin()
  for (let n = 0; n < 3; n++) {
    await redis.flushall()
    t.ok(await more(3), `after deletion ${n}`)
  }
  t.ok(await redis.exists(`${keys}:tick:repeat`), 'the schedule is there again')
  redis.disconnect()
  await queue.close()
})

await t.test("scheduled jobs continue after Redis lost the entry of a job's next run", { skip }, async (t) => {
  const { queue, more, keys } = await counting()
  t.ok(await more(2), 'before')
  const redis = admin()
  const found = await redis.keys(`${keys}:tick:*`)
  await redis.del(...found.filter((key) => /:(delayed|wait|marker)$|repeat:tick:\d+$/.test(key)))
  t.ok(await more(3), 'afterwards')
  redis.disconnect()
  await queue.close()
})

await t.test('scheduled jobs run in time while Redis hangs, and use Redis again afterwards', { skip }, async (t) => {
  const { queue, more } = await counting()
  t.ok(await more(2), 'before')
  server!.freeze()
  await queue.schedule({ name: 'another', every: EVERY, run: async () => undefined })
  t.match(await queue.runs(), [{ name: 'tick' }])
  t.ok(await more(3), 'while it hangs')
  server!.thaw()
  t.ok(await more(3), 'afterwards')
  await queue.close()
})

await t.test('a scheduled job runs at the start of the service although Redis is down', { skip }, async (t) => {
  await server!.kill()
  const { queue, more } = await counting()
  t.ok(await more(1))
  await queue.close()
  await server!.start()
})

await t.test(
  'another instance takes over a job run that was interrupted because its instance closed',
  { skip },
  async (t) => {
    const store = sharedQueue(server!.url)
    const [one, two] = await Promise.all([store.open(), store.open()])
    let began = 0
    let done = 0
    const cut = (signal: AbortSignal) =>
      new Promise<void>((end) => {
        began++
        signal.addEventListener('abort', () => end())
      })
    await one.schedule({ name: 'long', every: 600_000, run: cut })
    await eventually(() => began === 1, 'the run')
    await two.schedule({ name: 'long', every: 600_000, run: async () => void done++ })
    await one.close()
    await eventually(() => done > 0, 'its taking over')
    t.equal(done, 1)
    await two.close()
  },
)

await t.test(
  'another instance takes over a job run that was interrupted because its instance was killed',
  { skip },
  async (t) => {
    const store = sharedQueue(server!.url)
    const script = join(import.meta.dirname, 'hanging-worker.js')
    const child = spawn(process.execPath, [script, server!.url, store.prefix], { stdio: ['ignore', 'pipe', 'inherit'] })
    t.teardown(() => child.kill('SIGKILL'))
    await once(child.stdout, 'data')
    child.kill('SIGKILL')
    await once(child, 'exit')
    const queue = await store.open()
    let done = 0
    await queue.schedule({ name: 'long', every: 600_000, run: async () => void done++ })
    await eventually(() => done > 0, 'its taking over')
    t.equal(done, 1)
    await queue.close()
  },
)

import { Redis } from 'ioredis'
import t from 'tap'
import { eventually } from '../../wait.ts'
import { ownRedis } from '../servers.ts'
import { sharedQueue } from './store.ts'

const { server, skip } = await ownRedis(t)

await t.test(
  'a job that tells of every one of 100,000 things costs Redis a few calls, and its end says all',
  { skip },
  async (t) => {
    const redis = new Redis(server!.url)
    t.teardown(() => redis.disconnect())
    const calls = async () => {
      const stats = await redis.info('commandstats')
      return Number(/^cmdstat_hset:calls=(\d+)/m.exec(stats)?.[1] ?? 0)
    }
    const { open, keys } = sharedQueue(server!.url)
    const queue = await open()
    let [before, after] = [0, 0]
    const ended = new Promise<void>((end) => {
      const run = async (_: AbortSignal, tell: (progress: { readonly done: number }) => void) => {
        before = await calls()
        for (let done = 1; done <= 100_000; done++) {
          tell({ done })
          if (done % 10_000 === 0) await new Promise((next) => setImmediate(next))
        }
        after = await calls()
        end()
      }
      void queue.schedule({ name: 'talkative', every: 600_000, run })
    })
    await ended
    t.ok(after - before <= 10, `${after - before} calls`)
    const last = () => redis.hget(`${keys}:runs`, 'talkative')
    t.match(await eventually(async () => (await last())?.includes('finishedAt') && last(), 'its end'), /"done":100000/)
    await queue.close()
  },
)

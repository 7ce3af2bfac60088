import { Redis } from 'ioredis'
import t from 'tap'
import { lastRuns } from '../../../src/adapters/redis/queue-view.ts'
import { virtualClock } from '../../virtual-clock.ts'
import { eventually } from '../../wait.ts'
import { ownRedis } from '../servers.ts'
import { sharedQueue } from './store.ts'

const { server, skip } = await ownRedis(t)

await t.test(
  '100,000 progress updates of a job cost a few calls of Redis, and the final count is stored',
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

await t.test('a job sends its progress to Redis once a second, and its end immediately', async (t) => {
  const clock = virtualClock()
  const told: (readonly [ms: number, done: number | undefined])[] = []
  const client = {
    status: 'ready',
    hset: async (_key: string, _name: string, text: string) => {
      const { progress } = JSON.parse(text) as { readonly progress?: { readonly done: number } }
      told.push([clock.monotonic(), progress?.done])
    },
  } as unknown as Redis
  const { note, noteProgress } = lastRuns(client, clock, 'runs', (error) => t.fail(String(error)))
  const run = { name: 'talkative', startedAt: 0 }
  note(run)
  for (const [ms, done, isTold] of [
    [0, 1, true],
    [0, 2, false],
    [999, 3, false],
    [1, 4, true],
    [999, 5, false],
    [1, 6, true],
  ] as const) {
    await clock.advance(ms)
    t.equal(noteProgress({ ...run, progress: { done } }), isTold)
  }
  note({ ...run, finishedAt: 2_000 })
  t.strictSame(told, [
    [0, undefined],
    [0, 1],
    [1_000, 4],
    [2_000, 6],
    [2_000, undefined],
  ])
})

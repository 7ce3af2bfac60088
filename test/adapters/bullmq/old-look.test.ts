import t from 'tap'
import { connectRedis, familyOf } from '../../../src/adapters/redis/connection.ts'
import { bullmqJob } from '../../../src/adapters/redis/queue.ts'
import { lastRuns } from '../../../src/adapters/redis/queue-view.ts'
import { eventually } from '../../wait.ts'
import { ownRedis } from '../servers.ts'
import { ignore } from './sharing.ts'
import { LOOK_MS, stepped } from './stepped.ts'

const { server, skip } = await ownRedis(t)
const EVERY = 600_000
const GRACE = 3000
/** Delay in ms of the answer to a query that is pending when a run begins. */
const LATE_MS = 500

await t.test(
  'a job runs on time although a status query stayed open during its whole previous run',
  { skip },
  async (t) => {
    const { clock, keys, sleep, turns } = stepped(server!.url)
    let looks = 0
    const health = { failed: ignore, worked: () => void looks++ }
    const client = connectRedis({ url: server!.url }, true, health)
    const disconnect = familyOf(client)
    const stop = new AbortController()
    const known = lastRuns(client, clock, `${keys}:runs`, ignore)
    /** Promise that holds back the result of a query. */
    let held: Promise<void> | undefined
    let found = 0
    const runs: typeof known = {
      ...known,
      find: async (name) => {
        const run = await known.find(name)
        found++
        await held
        return run
      },
    }
    let begun = 0
    const parts = { clock, client, prefix: keys, runs, signal: stop.signal, grace: GRACE, onError: ignore, health }
    const job = bullmqJob({ name: 'tick', every: EVERY, run: async () => void begun++ }, parts)
    const { queue, end } = turns('tick')
    const rests = () => eventually(() => clock.waiting().length === 1, 'the answers of Redis')
    const look = async (ms = LOOK_MS) => {
      const before = looks
      await clock.advance(ms)
      await eventually(() => looks > before, 'a look')
      await rests()
    }
    const ended = async (count: number) => {
      await eventually(async () => begun === count && (await known.all())[0]?.finishedAt !== undefined, `run ${count}`)
    }
    await ended(1)
    await rests()
    await look()

    let release = () => {}
    held = new Promise<void>((go) => (release = go))
    const before = found
    await clock.advance(LOOK_MS)
    await eventually(() => found > before, 'a look that knows of the first run')
    const next = await eventually(async () => (await queue.getDelayed())[0], 'the next turn')
    await next.promote()
    await ended(2)
    await clock.advance(LATE_MS)
    held = undefined
    release()
    await rests()

    const asked = async () => (await queue.getJobs()).filter(({ id }) => id?.startsWith('missed-')).length
    sleep(EVERY)
    await look(LOOK_MS - LATE_MS)
    await look()
    t.equal(await asked(), 0, 'its interval and the grace are not over')
    await look()
    t.equal(await asked(), 1, 'an interval and the grace after the run began')
    stop.abort()
    await job.close()
    await end()
    disconnect()
  },
)

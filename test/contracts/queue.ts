import type { Test } from 'tap'
import type { Progress, Queue, Run } from '../../src/jobs/queue.ts'

/** One queue that can be opened, closed and opened again; `errors` collects what `onError` was told. `shared` = several may be open at once. */
export type QueueStore = {
  readonly open: () => Promise<Queue>
  readonly errors: readonly unknown[]
  readonly shared: boolean
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const until = async (enough: () => boolean) => {
  for (const end = Date.now() + 15_000; !enough() && Date.now() < end; ) await sleep(5)
}

/** What every Queue promises. `every` is the interval the tests use, in milliseconds. */
export const queueContract = (t: Test, make: (t: Test) => Promise<QueueStore>, every = 60): void => {
  void t.test('a job runs at start and then once each interval', async (t) => {
    const queue = await (await make(t)).open()
    const starts: number[] = []
    const run = async () => void starts.push(Date.now())
    const began = Date.now()
    await queue.schedule({ name: 'tick', every, run })
    await until(() => starts.length >= 7)
    await queue.close()
    t.ok(starts.length >= 7)
    t.ok(starts[0]! - began < every + 15_000, 'at start')
    t.ok(starts[6]! - starts[0]! >= 3 * every, 'and not faster than its interval, of which a late first run costs two')
  })

  void t.test('two runs of one job are never at once, however long they take, and other jobs go on', async (t) => {
    const queue = await (await make(t)).open()
    let [inside, most, runs, others] = [0, 0, 0, 0]
    const slow = async () => {
      most = Math.max(most, ++inside)
      await sleep(every * 2.5)
      inside--
      runs++
    }
    await queue.schedule({ name: 'slow', every, run: slow })
    await queue.schedule({ name: 'quick', every, run: async () => void others++ })
    await until(() => runs >= 3 && others > runs)
    await queue.close()
    t.equal(most, 1)
    t.ok(others > runs)
  })

  void t.test('a run that fails is told and tried again at the next interval', async (t) => {
    const store = await make(t)
    const queue = await store.open()
    let runs = 0
    const run = async () => {
      if (++runs === 1) throw new Error('no luck')
    }
    await queue.schedule({ name: 'flaky', every, run })
    await until(() => runs >= 2)
    await until(() => store.errors.length > 0)
    await queue.close()
    t.ok(runs >= 2)
    t.match(store.errors, [/no luck/])
  })

  void t.test('the last run of each job is told, with its error', async (t) => {
    const queue = await (await make(t)).open()
    const began = Date.now()
    const bad = async () => {
      throw new Error('bad day')
    }
    await queue.schedule({ name: 'a', every: 600_000, run: async () => undefined })
    await queue.schedule({ name: 'b', every: 600_000, run: bad })
    const finished = async () => (await queue.runs()).filter(({ finishedAt }) => finishedAt !== undefined).length
    for (const end = Date.now() + 20_000; (await finished()) < 2 && Date.now() < end; ) await sleep(5)
    const runs = [...(await queue.runs())].sort((x, y) => (x.name < y.name ? -1 : 1))
    t.match(runs, [{ name: 'a' }, { name: 'b', error: 'bad day' }])
    t.equal(runs[0]!.error, undefined)
    for (const { startedAt, finishedAt } of runs) t.ok(startedAt >= began - 1000 && finishedAt! >= startedAt)
    await queue.close()
  })

  void t.test(
    'a run tells how far it is while it runs; what it told last stays with it, and the next begins anew',
    async (t) => {
      const store = await make(t)
      const queue = await store.open()
      let [runs, release] = [0, () => {}]
      const run = async (_: AbortSignal, tell: (progress: Progress) => void) => {
        if (++runs > 1) return new Promise<void>((end) => (release = end))
        tell({ done: 1, total: 3 })
        await new Promise<void>((end) => (release = end))
        tell({ done: 2, total: 3 })
        tell({ done: 3 })
        throw new Error('too far')
      }
      await queue.schedule({ name: 'far', every: 3000, run })
      const told = async (by: Queue, enough: (run: Run) => boolean) => {
        for (const end = Date.now() + 20_000; Date.now() < end; await sleep(5)) {
          const [run] = await by.runs()
          if (run && enough(run)) return run
        }
        return undefined
      }
      const during = await told(queue, ({ progress }) => progress !== undefined)
      t.same([during?.progress, during?.finishedAt], [{ done: 1, total: 3 }, undefined])
      if (store.shared) {
        const another = await store.open()
        t.same((await told(another, () => true))?.progress, { done: 1, total: 3 }, 'whoever shares the store sees it')
        await another.close()
      }
      release()
      const after = await told(queue, ({ finishedAt }) => finishedAt !== undefined)
      t.match(after, { progress: { done: 3 }, error: 'too far' })
      t.ok(
        await told(queue, ({ startedAt, progress }) => startedAt > after!.startedAt && progress === undefined),
        'anew',
      )
      release()
      await queue.close()
    },
  )

  void t.test('close ends a running job by its signal, waits for it, and starts nothing more', async (t) => {
    const queue = await (await make(t)).open()
    let [started, ended] = [0, 0]
    const run = async (signal: AbortSignal) => {
      started++
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      await sleep(20)
      ended++
    }
    await queue.schedule({ name: 'long', every, run })
    await until(() => started === 1)
    await queue.close()
    t.same([started, ended], [1, 1])
    await t.rejects(queue.schedule({ name: 'late', every, run }))
    await sleep(every * 2)
    t.same([started, ended], [1, 1])
  })

  void t.test('after a restart a job runs at start again', async (t) => {
    const store = await make(t)
    for (const round of [1, 2]) {
      const queue = await store.open()
      let runs = 0
      await queue.schedule({ name: 'again', every: store.shared ? every : 600_000, run: async () => void runs++ })
      await until(() => runs > 0)
      t.ok(runs > 0, `round ${round}`)
      await queue.close()
    }
  })

  void t.test('queues that share a store never run one job twice at once', async (t) => {
    const store = await make(t)
    if (!store.shared) {
      t.pass('one process has this store')
      return
    }
    const queues = await Promise.all([store.open(), store.open(), store.open()])
    let [inside, most, runs] = [0, 0, 0]
    const run = async () => {
      most = Math.max(most, ++inside)
      await sleep(every / 2)
      inside--
      runs++
    }
    for (const queue of queues) await queue.schedule({ name: 'shared', every, run })
    await until(() => runs >= 5)
    await Promise.all(queues.map((queue) => queue.close()))
    t.equal(most, 1)
    t.ok(runs >= 5)
  })
}

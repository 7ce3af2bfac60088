import type { Test } from 'tap'
import type { Clock } from '../../src/base/clock.ts'
import type { Progress, Queue, Run } from '../../src/jobs/queue.ts'
import { noted } from '../noted.ts'
import { eventually } from '../wait.ts'

/** Queue that can be reopened; `errors` collects the calls of `onError`. `shared`: several may be open at once. */
export type QueueStore = {
  readonly open: () => Promise<Queue>
  readonly errors: readonly unknown[]
  readonly shared: boolean
  /** Clock of the queue, advanced by the test. */
  readonly clock: Pick<Clock, 'now'>
  /** Advances the clock by 0 or by the interval of the jobs. */
  readonly pass: (ms: number) => Promise<void>
}

const EVERY = 600_000

/** Runs that the queue starts and the test ends. */
const heldRuns = () => {
  const ends: (() => void)[] = []
  const state = { began: 0, inside: 0, most: 0 }
  const run = async () => {
    state.began++
    state.most = Math.max(state.most, ++state.inside)
    await new Promise<void>((end) => ends.push(end))
    state.inside--
  }
  return { state, run, endOne: () => ends.shift()?.() }
}

/** Contract of Queue. */
export const queueContract = (t: Test, make: (t: Test) => Promise<QueueStore>): void => {
  const until = async <T>({ pass }: QueueStore, ask: () => T | Promise<T>, what: string) =>
    eventually(async () => {
      await pass(0)
      return ask()
    }, what)

  void t.test('runs a job at the start and then once per interval', async (t) => {
    const store = await make(t)
    const queue = await store.open()
    let runs = 0
    await queue.schedule({ name: 'tick', every: EVERY, run: async () => void runs++ })
    for (let n = 1; n <= 7; n++) {
      if (n > 1) await store.pass(EVERY)
      await until(store, () => runs >= n, `run ${n}`)
      t.equal(runs, n)
    }
    await queue.close()
    t.equal(runs, 7)
  })

  void t.test('never runs a job twice at once, and other jobs continue', async (t) => {
    const store = await make(t)
    const queue = await store.open()
    const { state, run, endOne } = heldRuns()
    let others = 0
    await queue.schedule({ name: 'slow', every: EVERY, run })
    await queue.schedule({ name: 'quick', every: EVERY, run: async () => void others++ })
    for (let n = 1; n <= 4; n++) {
      if (n > 1) await store.pass(EVERY)
      await until(store, () => others >= n && state.began > 0, `run ${n} of the other`)
      t.same([state.began, others], [1, n])
    }
    endOne()
    await until(store, () => state.began === 2, 'the run that was due meanwhile')
    t.same([state.most, state.inside], [1, 1])
    const closed = queue.close()
    endOne()
    await closed
  })

  void t.test('reports a failed run and retries it at the next interval', async (t) => {
    const store = await make(t)
    const queue = await store.open()
    let runs = 0
    const run = async () => {
      if (++runs === 1) throw new Error('no luck')
    }
    await queue.schedule({ name: 'flaky', every: EVERY, run })
    await until(store, () => store.errors.length > 0, 'the error')
    t.equal(runs, 1)
    await store.pass(EVERY)
    await until(store, () => runs > 1, 'the next run')
    await queue.close()
    t.equal(runs, 2)
    t.match(store.errors, [/no luck/])
    t.equal(store.errors.length, 1)
  })

  void t.test('returns the last run of each job with its error', async (t) => {
    const store = await make(t)
    const queue = await store.open()
    const at = store.clock.now().getTime()
    const bad = async () => {
      throw new Error('bad day')
    }
    await queue.schedule({ name: 'a', every: EVERY, run: async () => undefined })
    await queue.schedule({ name: 'b', every: EVERY, run: bad })
    const finished = async () => (await queue.runs()).filter(({ finishedAt }) => finishedAt !== undefined).length === 2
    await until(store, finished, 'the end of both')
    const runs = [...(await queue.runs())].sort((x, y) => (x.name < y.name ? -1 : 1))
    t.same(runs, [
      { name: 'a', startedAt: at, finishedAt: at },
      { name: 'b', startedAt: at, finishedAt: at, error: 'bad day' },
    ])
    await queue.close()
  })

  void t.test('returns the progress of a run; the last one stays until the next run', async (t) => {
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
    await queue.schedule({ name: 'far', every: EVERY, run })
    const told = (by: Queue, enough: (run: Run) => boolean, what: string) =>
      until(store, async () => (await by.runs()).find(enough), what)
    const during = await told(queue, ({ progress }) => progress !== undefined, 'how far it is')
    t.same([during.progress, during.finishedAt], [{ done: 1, total: 3 }, undefined])
    if (store.shared) {
      const another = await store.open()
      const seen = await told(another, ({ progress }) => progress !== undefined, 'how far it is, elsewhere')
      t.same(seen.progress, { done: 1, total: 3 }, 'whoever shares the store sees it')
      await another.close()
    }
    release()
    const after = await told(queue, ({ finishedAt }) => finishedAt !== undefined, 'its end')
    t.match(after, { progress: { done: 3 }, error: 'too far' })
    await store.pass(EVERY)
    const anew = await told(queue, ({ startedAt }) => startedAt > after.startedAt, 'the next run')
    t.equal(anew.progress, undefined, 'anew')
    await until(store, () => runs === 2, 'its begin')
    release()
    await queue.close()
  })

  void t.test('close aborts a running job, waits for it, and starts no others', async (t) => {
    const store = await make(t)
    const queue = await store.open()
    let [started, stopped, ended] = [0, 0, 0]
    let release = () => {}
    const run = async (signal: AbortSignal) => {
      started++
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      stopped++
      await new Promise<void>((end) => (release = end))
      ended++
    }
    await queue.schedule({ name: 'long', every: EVERY, run })
    await until(store, () => started === 1, 'its begin')
    const closing = queue.close()
    const closed = noted(closing)
    await until(store, () => stopped === 1, 'its signal')
    t.same([closed, ended], [[], 0], 'it is waited for')
    release()
    await closing
    t.same([started, ended], [1, 1])
    await t.rejects(queue.schedule({ name: 'late', every: EVERY, run }))
    const next = await store.open()
    let taken = 0
    await next.schedule({ name: 'long', every: EVERY, run: async () => void taken++ })
    await store.pass(EVERY)
    await until(store, () => taken > 0, 'the next one that is open')
    await next.close()
    t.same([started, ended], [1, 1])
  })

  void t.test('runs a job at the start after a restart', async (t) => {
    const store = await make(t)
    for (const round of [1, 2]) {
      const queue = await store.open()
      let runs = 0
      await queue.schedule({ name: 'again', every: EVERY, run: async () => void runs++ })
      // Redis stores the time of the last run, so its interval must pass.
      if (store.shared && round > 1) await store.pass(EVERY)
      await until(store, () => runs > 0, `its run in round ${round}`)
      await queue.close()
      t.equal(runs, 1, `round ${round}`)
    }
  })

  void t.test('queues with a shared store never run a job twice at once', async (t) => {
    const store = await make(t)
    if (!store.shared) {
      t.pass('one process has this store')
      return
    }
    const queues = await Promise.all([store.open(), store.open(), store.open()])
    const { state, run, endOne } = heldRuns()
    let others = 0
    for (const queue of queues) {
      await queue.schedule({ name: 'shared', every: EVERY, run })
      await queue.schedule({ name: 'quick', every: EVERY, run: async () => void others++ })
    }
    for (let n = 1; n <= 5; n++) {
      await until(store, () => state.began >= n, `run ${n}`)
      const before = others
      await store.pass(EVERY)
      await until(store, () => others > before, 'the other job')
      t.same([state.began, state.most], [n, 1], 'the next turn waits for the end')
      endOne()
    }
    await until(store, () => state.began === 6, 'the last run')
    const closed = Promise.all(queues.map((queue) => queue.close()))
    endOne()
    await closed
    t.equal(state.most, 1)
  })
}

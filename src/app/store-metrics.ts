import type { Metrics } from '../http/operations/metrics.ts'
import { fails, type PortFaults } from './port-faults.ts'
import type { Stores } from './stores.ts'

const outcomes = ['ok', 'refused', 'failed'] as const
type Outcome = (typeof outcomes)[number]

/** Told of a call when it is over: how it ended, how many milliseconds the store took for it, and the error where there was one. */
type Told = (outcome: Outcome, ms: number, error: unknown) => void
type Call = (...args: readonly unknown[]) => Promise<unknown> | AsyncIterable<unknown>

const timed = async (answer: Promise<unknown>, told: Told): Promise<unknown> => {
  const began = performance.now()
  let [outcome, failure]: [Outcome, unknown] = ['ok', undefined]
  try {
    return await answer
  } catch (error) {
    ;[outcome, failure] = [fails(error) ? 'failed' : 'refused', error]
    throw error
  } finally {
    told(outcome, performance.now() - began, failure)
  }
}

/** The same pages. The time between two of them is the reader's own and does not count. */
const paged = async function* (pages: AsyncIterable<unknown>, told: Told): AsyncGenerator {
  const iterator = pages[Symbol.asyncIterator]()
  let [outcome, took, failure]: [Outcome, number, unknown] = ['ok', 0, undefined]
  const next = () =>
    timed(iterator.next(), (how, ms, error) => ([outcome, took, failure] = [how, took + ms, error])) as Promise<
      IteratorResult<unknown>
    >
  try {
    for (let page = await next(); !page.done; page = await next()) yield page.value
  } finally {
    told(outcome, took, failure)
    await iterator.return?.()
  }
}

const around =
  (call: Call, told: Told): Call =>
  (...args) => {
    const answer = call(...args)
    return Symbol.asyncIterator in answer ? paged(answer, told) : timed(answer, told)
  }

/** A port whose every function is told of; `close` is nobody's call. */
const wrapped = <P extends object>(port: P, tellerOf: (operation: string) => Told): P =>
  Object.fromEntries(
    Object.entries(port).map(([operation, call]: [string, Call]) => [
      operation,
      operation === 'close' ? call : around(call, tellerOf(operation)),
    ]),
  ) as P

/** The same stores, their three ports counted and timed by operation, and those and the keys told of when they fail: an iterator is one call from its first page to its last. Runs of jobs here count as `run`. */
export const instrumented = (
  stores: Stores,
  { storeCalls, storeCallDuration }: Metrics,
  faults: PortFaults,
): Stores => {
  const tellers = (port: keyof Stores['adapters']) => {
    const adapter = stores.adapters[port]
    const fault = faults.of(adapter)
    return (operation: string): Told => {
      const [ok, refused, failed] = outcomes.map((outcome) => storeCalls(port, adapter, operation, outcome))
      const cells = { ok: ok!, refused: refused!, failed: failed! }
      // Who follows waits for what has not happened yet: how long says nothing of the store.
      const duration = operation === 'follow' ? undefined : storeCallDuration(port, adapter, operation)
      return (outcome, ms, error) => {
        cells[outcome].value++
        duration?.observe(ms / 1000)
        // A job that fails says nothing of the queue.
        if (operation === 'run') return
        if (outcome === 'failed') fault.failed(port, operation, error)
        else fault.worked(port, operation)
      }
    }
  }
  const queue = wrapped(stores.queue, tellers('queue'))
  const ran = tellers('queue')('run')
  return {
    ...stores,
    keys: faults.around('keys', stores.adapters.views, stores.keys),
    log: wrapped(stores.log, tellers('log')),
    views: wrapped(stores.views, tellers('views')),
    queue: {
      ...queue,
      schedule: (job) => queue.schedule({ ...job, run: async (...args) => void (await timed(job.run(...args), ran)) }),
    },
  }
}

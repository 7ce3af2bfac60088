import type { Clock } from '../../clock.ts'
import type { Metrics } from '../../http/operations/metrics.ts'
import { fails, type OutageLog } from '../telemetry/outage-log.ts'
import type { Stores } from './stores.ts'

const outcomes = ['ok', 'refused', 'failed'] as const
type Outcome = (typeof outcomes)[number]

/** Hears of a call when it is over: its outcome, the milliseconds that the store took, and the error if there was one. */
type Report = (outcome: Outcome, ms: number, error: unknown) => void
type Call = (...args: readonly unknown[]) => Promise<unknown> | AsyncIterable<unknown>

const timed = async (monotonic: Clock['monotonic'], answer: Promise<unknown>, report: Report): Promise<unknown> => {
  const began = monotonic()
  let [outcome, failure]: [Outcome, unknown] = ['ok', undefined]
  try {
    return await answer
  } catch (error) {
    ;[outcome, failure] = [fails(error) ? 'failed' : 'refused', error]
    throw error
  } finally {
    report(outcome, monotonic() - began, failure)
  }
}

/** The same pages. Time that the reader spends between two of them does not count. */
const paged = async function* (
  monotonic: Clock['monotonic'],
  pages: AsyncIterable<unknown>,
  report: Report,
): AsyncGenerator {
  const iterator = pages[Symbol.asyncIterator]()
  let [outcome, took, failure]: [Outcome, number, unknown] = ['ok', 0, undefined]
  const next = () =>
    timed(
      monotonic,
      iterator.next(),
      (how, ms, error) => ([outcome, took, failure] = [how, took + ms, error]),
    ) as Promise<IteratorResult<unknown>>
  try {
    for (let page = await next(); !page.done; page = await next()) yield page.value
  } finally {
    report(outcome, took, failure)
    await iterator.return?.()
  }
}

const around =
  (monotonic: Clock['monotonic'], call: Call, report: Report): Call =>
  (...args) => {
    const answer = call(...args)
    return Symbol.asyncIterator in answer ? paged(monotonic, answer, report) : timed(monotonic, answer, report)
  }

/** A port whose every call is reported, except `close`. */
const wrapped = <P extends object>(
  monotonic: Clock['monotonic'],
  port: P,
  tellerOf: (operation: string) => Report,
): P =>
  Object.fromEntries(
    Object.entries(port).map(([operation, call]: [string, Call]) => [
      operation,
      operation === 'close' ? call : around(monotonic, call, tellerOf(operation)),
    ]),
  ) as P

/** The same stores, with calls of their three ports counted and timed, and failures of these and of the keys reported. An iterator is one call from its first page to its last; a job that runs here counts as `run`. */
export const instrumented = (
  { monotonic }: Pick<Clock, 'monotonic'>,
  stores: Stores,
  { storeCalls, storeCallDuration }: Metrics,
  faults: OutageLog,
): Stores => {
  const tellers = (port: keyof Stores['adapters']) => {
    const adapter = stores.adapters[port]
    const fault = faults.of(adapter)
    return (operation: string): Report => {
      const [ok, refused, failed] = outcomes.map((outcome) => storeCalls(port, adapter, operation, outcome))
      const cells = { ok: ok!, refused: refused!, failed: failed! }
      // `follow` waits for events that have not happened yet: its duration says nothing about the store.
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
  const queue = wrapped(monotonic, stores.queue, tellers('queue'))
  const ran = tellers('queue')('run')
  return {
    ...stores,
    keys: faults.instrument('keys', stores.adapters.views, stores.keys),
    log: wrapped(monotonic, stores.log, tellers('log')),
    views: wrapped(monotonic, stores.views, tellers('views')),
    queue: {
      ...queue,
      schedule: (job) =>
        queue.schedule({ ...job, run: async (...args) => void (await timed(monotonic, job.run(...args), ran)) }),
    },
  }
}

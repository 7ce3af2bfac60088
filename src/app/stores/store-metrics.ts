import type { Clock } from '../../base/clock.ts'
import type { Metrics } from '../../http/metrics/metrics.ts'
import { fails, type OutageLog } from '../telemetry/outage-log.ts'
import type { Stores } from './stores.ts'

const outcomes = ['ok', 'refused', 'failed'] as const
type Outcome = (typeof outcomes)[number]

/** Reports a finished call: its outcome, the milliseconds that the store took, and the error if any. */
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

/** Passes pages through. The time between two requests of the reader is not counted. */
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

/** Reports every call of a port, except `close`. */
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

/**
 * Wraps the stores: calls of the three ports are counted and timed; failures of these and of the keys are reported until
 * the stores close. An iterator is one call from its first page to its last. A job that runs on this instance counts as
 * `run`.
 */
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
      // `follow` waits for future events, so its duration is no property of the store.
      const duration = operation === 'follow' ? undefined : storeCallDuration(port, adapter, operation)
      return (outcome, ms, error) => {
        cells[outcome].value++
        duration?.observe(ms / 1000)
        // A failed job is not a failure of the queue.
        if (operation === 'run') return
        if (outcome === 'failed') fault.failed(port, operation, error)
        else if (fault.failing.size > 0) fault.worked(port, operation)
      }
    }
  }
  const keysFault = faults.of(stores.adapters.views)
  const keysTeller =
    (operation: string): Report =>
    (outcome, _, error) => {
      if (outcome === 'failed') keysFault.failed('keys', operation, error)
      else if (keysFault.failing.size > 0) keysFault.worked('keys', operation)
    }
  const queue = wrapped(monotonic, stores.queue, tellers('queue'))
  const ran = tellers('queue')('run')
  return {
    ...stores,
    keys: wrapped(monotonic, stores.keys, keysTeller),
    log: wrapped(monotonic, stores.log, tellers('log')),
    views: wrapped(monotonic, stores.views, tellers('views')),
    queue: {
      ...queue,
      schedule: (job) =>
        queue.schedule({ ...job, run: async (...args) => void (await timed(monotonic, job.run(...args), ran)) }),
    },
    close: () => {
      faults.end()
      return stores.close()
    },
  }
}

import { type Attributes, inSpan, type Span, type Tracer } from '../../base/tracing.ts'
import type { Stores } from '../stores/stores.ts'

type Call = (...args: readonly unknown[]) => Promise<unknown> | AsyncIterable<unknown>

/** Names of the stores in the conventions for databases. */
const systems: Readonly<Record<string, string>> = { embedded: 'sqlite' }

/** Runs each read of a page in the span of the whole read, which ends with the last page. */
const pagesIn = async function* (tracer: Tracer, span: Span, pages: AsyncIterable<unknown>): AsyncGenerator {
  const iterator = pages[Symbol.asyncIterator]()
  try {
    for (;;) {
      const page = await tracer.within(span, () => iterator.next())
      if (page.done) return
      yield page.value
    }
  } finally {
    tracer.end(span)
    await iterator.return?.()
  }
}

/** Gives each call of a port a span, if it is part of a recorded trace. */
const tracedPort = <P extends object>(tracer: Tracer, name: string, adapter: string, port: P): P => {
  const traced = ([operation, call]: [string, Call]): [string, unknown] => {
    // `close` ends the port, and `follow` ends with the service.
    if (typeof call !== 'function' || operation === 'close' || operation === 'follow') return [operation, call]
    const attributes: Attributes = { 'db.system.name': systems[adapter] ?? adapter, 'db.operation.name': operation }
    const title = `${name}.${operation}`
    return [
      operation,
      (...args: readonly unknown[]) => {
        const parent = tracer.current()
        if (parent === undefined || !tracer.recording(parent)) return call(...args)
        const span = tracer.begin(title, 'client')
        tracer.set(span, attributes)
        const answer = tracer.within(span, () => call(...args))
        return Symbol.asyncIterator in answer ? pagesIn(tracer, span, answer) : inSpan(tracer, span, () => answer)
      },
    ]
  }
  return Object.fromEntries(Object.entries(port as Record<string, Call>).map(traced)) as P
}

/**
 * Wraps the stores: each call in a recorded trace has a span, and each run of a job has a trace of its own. Calls
 * outside of a request and a job, such as following the log, have no span.
 */
export const tracedStores = (stores: Stores, tracer: Tracer): Stores => {
  const { log, views, queue, keys, snapshots, adapters } = stores
  const traced = tracedPort(tracer, 'queue', adapters.queue, queue)
  return {
    ...stores,
    log: tracedPort(tracer, 'log', adapters.log, log),
    views: tracedPort(tracer, 'views', adapters.views, views),
    keys: tracedPort(tracer, 'keys', adapters.views, keys),
    snapshots: tracedPort(tracer, 'snapshots', adapters.views, snapshots),
    queue: {
      ...traced,
      schedule: (job) =>
        queue.schedule({
          ...job,
          run: (...args) => {
            const span = tracer.begin(`job ${job.name}`, 'internal', {})
            return inSpan(tracer, span, () => job.run(...args))
          },
        }),
    },
    ledger: async () => {
      const { store, keys: signing } = await stores.ledger()
      return { store: tracedPort(tracer, 'ledger', adapters.views, store), keys: signing }
    },
  }
}

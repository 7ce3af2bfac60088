import type { Clock } from '../../base/clock.ts'
import { type Attributes, inChild, inSpan, type Span, type SpanCounts, type Tracer } from '../../base/tracing.ts'
import type { Execute } from '../../commands/execute.ts'
import type { Config } from '../../config/load.ts'
import type { Metrics } from '../../http/metrics/metrics.ts'
import type { View } from '../../projections/views.ts'
import type { Stores } from '../stores/stores.ts'
import type { Logger } from './logger.ts'

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

/** Gives each command a span with its name and the category of its stream. */
export const tracedExecute =
  (execute: Execute, tracer: Tracer): Execute =>
  (decider, id, name, command, context, known) => {
    const attributes = { 'rollcall.command': name, 'rollcall.category': decider.category }
    return inChild(tracer, `command ${name}`, 'internal', attributes, () =>
      execute(decider, id, name, command, context, known),
    )
  }

/** Waits of a request until a read model has read the log up to a position. */
type Waits = {
  readonly seen: (position: bigint, withinMs: number) => Promise<boolean>
  readonly viewsReached: (view: View, position: bigint, withinMs: number) => Promise<boolean>
}

/** Gives each wait for a read model a span with the position that it waits for. */
export const tracedWaits = <W extends Waits>(waits: W, tracer: Tracer): W => {
  const wait = (model: string, position: bigint, work: () => Promise<boolean>) =>
    inChild(
      tracer,
      'wait for a read model',
      'internal',
      { 'rollcall.read_model': model, 'rollcall.position': String(position) },
      work,
    )
  return {
    ...waits,
    seen: (position: bigint, ms: number) => wait('memory', position, () => waits.seen(position, ms)),
    viewsReached: (view: View, position: bigint, ms: number) =>
      wait(view.name, position, () => waits.viewsReached(view, position, ms)),
  }
}

const PROTOCOL = 'http/protobuf'
const NONE: SpanCounts = { sent: 0, failed: 0, dropped: 0 }

/** Opens the tracer if a collector is configured, and only then loads the packages of OpenTelemetry. */
export const tracerOf = async (
  { tracing: { otlp_endpoint: endpoint } }: Config,
  logger: Logger,
  clock: Clock,
): Promise<Tracer | undefined> => {
  const { env } = process
  const disabled = env['OTEL_SDK_DISABLED']?.trim().toLowerCase() === 'true' || env['OTEL_TRACES_EXPORTER'] === 'none'
  if (endpoint === undefined || disabled) return undefined
  const protocol = env['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'] || env['OTEL_EXPORTER_OTLP_PROTOCOL'] || PROTOCOL
  if (protocol !== PROTOCOL)
    logger.warn({ protocol }, `spans are sent by ${PROTOCOL}, because the service supports no other protocol`)
  const { openTracer } = await import('../../adapters/opentelemetry/open.ts')
  logger.info({ endpoint }, 'traces are sent to the collector')
  return openTracer(endpoint, logger, clock)
}

/** Metric of the spans by their fate (api.md §11.1). */
export const addSpanCounts = ({ count }: Pick<Metrics, 'count'>, tracer: Pick<Tracer, 'counts'> | undefined): void =>
  count('trace_spans_total', 'Finished spans by outcome: sent, failed, dropped.', ['outcome'], () =>
    Object.entries(tracer?.counts() ?? NONE).map(([outcome, value]) => ({ labels: [outcome], value })),
  )

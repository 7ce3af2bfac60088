import type { Clock } from '../../base/clock.ts'
import type { SpanCounts, Tracer } from '../../base/tracing.ts'
import type { Config } from '../../config/load.ts'
import type { Metrics } from '../../http/metrics/metrics.ts'
import type { Logger } from './logger.ts'

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

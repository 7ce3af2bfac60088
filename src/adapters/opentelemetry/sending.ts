import type { ReadableSpan, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace-base'
import type { SpanCounts } from '../../base/tracing.ts'

/** Maximum number of finished spans that wait to be sent. */
export const QUEUE = 2_048
const SENT = 0

type Log = {
  readonly warn: (record: object, message: string) => void
  readonly info: (record: object, message: string) => void
}

/** Code and text of a failed export, without the body of the answer. */
const whyOf = (error: unknown): string => {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown }
  return [code, message]
    .filter((each) => each !== undefined && each !== '')
    .join(' ')
    .slice(0, 200)
}

/**
 * Counts finished spans by their fate, and logs spells of a failing collector: one WARN line at its first failure, one
 * INFO line when it accepts spans again.
 */
export const sending = (exporter: SpanExporter, log: Log, endpoint: string) => {
  const counts = { sent: 0, failed: 0, dropped: 0 }
  /** Spans that wait in the queue, and spans that the present spell has lost. */
  let [waiting, lost, failing, ending] = [0, 0, false, false]

  const failed = (spans: number, error: unknown): void => {
    counts.failed += spans
    lost += spans
    if (!failing)
      log.warn(
        { endpoint, why: whyOf(error) },
        'the collector of traces is unreachable or refuses spans; its spans are lost until it works again, and nothing waits for it; check tracing.otlp_endpoint and the collector',
      )
    failing = true
  }
  const worked = (spans: number): void => {
    counts.sent += spans
    if (failing) log.info({ endpoint, lost }, 'the collector of traces works again')
    ;[failing, lost] = [false, 0]
  }

  const counting: SpanExporter = {
    export: (spans, done) => {
      waiting -= spans.length
      // A failed export is already reported, so the SDK receives no error that it would report again.
      const over = () => done({ code: SENT })
      if (ending && failing) {
        failed(spans.length, undefined)
        return over()
      }
      exporter.export(spans, ({ code, error }: { readonly code: number; readonly error?: Error }) => {
        if (code === SENT) worked(spans.length)
        else failed(spans.length, error)
        over()
      })
    },
    shutdown: () => exporter.shutdown(),
  }

  return {
    exporter: counting,
    /** Passes finished spans to the queue, and drops those for which it has no place. */
    bounded: (queue: SpanProcessor): SpanProcessor => ({
      onStart: () => undefined,
      onEnd: (span: ReadableSpan) => {
        if (waiting >= QUEUE) return void counts.dropped++
        waiting++
        queue.onEnd(span)
      },
      forceFlush: () => queue.forceFlush(),
      shutdown: () => queue.shutdown(),
    }),
    counts: (): SpanCounts => ({ ...counts }),
    /** From now on no spans are sent to a collector that fails. */
    end: (): void => void (ending = true),
  }
}

import { Agent } from 'node:http'
import { Agent as SecureAgent } from 'node:https'
import { hostname } from 'node:os'
import {
  type Context,
  context,
  createTraceState,
  DiagLogLevel,
  diag,
  ROOT_CONTEXT,
  type Span as SdkSpan,
  type Tracer as SdkTracer,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { defaultResource, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  type ReadableSpan,
  type SpanExporter,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { type Clock, withTimeout } from '../../base/clock.ts'
import { bytesNow } from '../../base/regular-file.ts'
import { parentIn, type Span, type SpanCounts, type TraceHeaders, type Tracer } from '../../base/tracing.ts'
import { version } from '../../base/version.ts'

/** Maximum number of finished spans that wait to be sent. */
export const QUEUE = 2_048
const SENT = 0

/** Code and text of a failed export, without the body of the answer. */
const whyOf = (error: unknown): string => {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown }
  return [code, message]
    .filter((each) => each !== undefined && each !== '')
    .join(' ')
    .slice(0, 200)
}

/** Spans of an accepted batch that the collector has rejected, with its reason. */
type Rejected = { readonly spans: number; readonly message: string }
const NONE: Rejected = { spans: 0, message: '' }

/**
 * Counts finished spans by their fate, and logs spells of a failing collector: one WARN line at its first failure, one
 * INFO line when it accepts spans again.
 */
export const sending = (exporter: SpanExporter, log: Log, endpoint: string) => {
  const counts = { sent: 0, failed: 0, dropped: 0 }
  /** Spans that wait in the queue, and spans that the present spell has lost. */
  let [waiting, lost, ending] = [0, 0, false]
  let failing: false | 'partly' | 'wholly' = false
  /** Rejected spans of the batch that was just accepted. */
  let rejected: Rejected = NONE

  const failed = (spans: number, error: unknown, how: 'partly' | 'wholly' = 'wholly'): void => {
    counts.failed += spans
    lost += spans
    if (!failing)
      log.warn(
        { endpoint, spans, why: whyOf(error) },
        'the collector of traces is unreachable or refuses spans; its spans are lost until it works again, and nothing waits for it; check tracing.otlp_endpoint and the collector',
      )
    failing = how
  }
  const worked = (spans: number): void => {
    const some = Math.min(rejected.spans, spans)
    counts.sent += spans - some
    if (some > 0) failed(some, rejected, 'partly')
    rejected = NONE
    if (some > 0) return
    if (failing) log.info({ endpoint, lost }, 'the collector of traces works again')
    ;[failing, lost] = [false, 0]
  }

  const counting: SpanExporter = {
    export: (spans, done) => {
      waiting -= spans.length
      // A failed export is already reported, so the SDK receives no error that it would report again.
      const over = () => done({ code: SENT })
      if (ending && failing === 'wholly') {
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
    /** The next batch that the collector accepts is accepted without these spans. */
    onRejected: (some: Rejected): void => void (rejected = some),
    counts: (): SpanCounts => ({ ...counts }),
    /** From now on no spans are sent to a collector that fails. */
    end: (): void => void (ending = true),
  }
}

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL } as const

/** Returns the context of the headers; the root context if `traceparent` is absent or malformed. */
const contextIn = ({ traceparent, tracestate }: TraceHeaders): Context => {
  const parent = traceparent === undefined ? undefined : parentIn(traceparent)
  if (!parent) return ROOT_CONTEXT
  const { traceId, spanId, flags } = parent
  const state = typeof tracestate === 'string' && { traceState: createTraceState(tracestate) }
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: flags & TraceFlags.SAMPLED,
    isRemote: true,
    ...state,
  })
}

const sdk = (span: Span): SdkSpan => span as SdkSpan

/** Span of each context in use. */
const entered = new Set<SdkSpan>()

/**
 * Spans of a tracer of the SDK. `idle` is called when no context is in use: a context manager that is switched on makes
 * each promise of the process slower on Node.js before version 24.
 */
export const spansOf = (tracer: SdkTracer, idle: () => void): Omit<Tracer, 'counts' | 'close'> => ({
  begin: (name, kind, parent) =>
    tracer.startSpan(name, { kind: kinds[kind] }, parent ? contextIn(parent) : context.active()),
  within: (span, work) => {
    entered.add(sdk(span))
    return context.with(trace.setSpan(context.active(), sdk(span)), work)
  },
  current: () => trace.getSpan(context.active()),
  recording: (span) => sdk(span).isRecording(),
  name: (span, name) => void sdk(span).updateName(name),
  set: (span, attributes) => void sdk(span).setAttributes(attributes),
  event: (span, name, attributes) => void sdk(span).addEvent(name, attributes),
  end: (span, errorType) => {
    if (entered.delete(sdk(span)) && entered.size === 0) idle()
    if (!sdk(span).isRecording()) return
    if (errorType !== undefined) {
      sdk(span).setAttribute('error.type', errorType)
      sdk(span).setStatus({ code: SpanStatusCode.ERROR })
    }
    sdk(span).end()
  },
  traceId: (span) => sdk(span).spanContext().traceId,
  headers: () => {
    const own = trace.getSpanContext(context.active())
    if (!own) return {}
    const flags = (own.traceFlags & TraceFlags.SAMPLED).toString(16).padStart(2, '0')
    const tracestate = own.traceState?.serialize() ?? ''
    return { traceparent: `00-${own.traceId}-${own.spanId}-${flags}`, ...(tracestate !== '' && { tracestate }) }
  },
})

// One context manager serves all tracers of the process.
const contexts = new AsyncLocalStorageContextManager()
context.setGlobalContextManager(contexts)

/** Timeout in ms for sending the last spans at a stop. */
const FLUSH_MS = 2_000

type Log = {
  readonly warn: (record: object, message: string) => void
  readonly info: (record: object, message: string) => void
}

/** Message of the SDK about a batch of which some spans were rejected; its JSON follows as an argument. */
const PARTIAL = 'Received Partial Success response:'

/** Logs each message of the SDK once, and passes rejected spans on. */
const messagesTo = (log: Log, onRejected: (some: Rejected) => void) => {
  const logged = new Set<string>()
  const warn = (message: string, ...[detail]: readonly unknown[]): void => {
    if (message === PARTIAL) {
      const some = JSON.parse(String(detail)) as { readonly rejectedSpans?: number; readonly errorMessage?: string }
      return onRejected({ spans: some.rejectedSpans ?? 0, message: some.errorMessage ?? '' })
    }
    if (logged.has(message) || logged.size > 100) return
    logged.add(message)
    log.warn({ why: message.slice(0, 500) }, 'OpenTelemetry reports a problem; check the OTEL_ variables')
  }
  const silent = (): void => undefined
  return { error: warn, warn, info: silent, debug: silent, verbose: silent }
}

/** Resource of the spans: the service, overridden by OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME. */
const resourceFor = (log: Log) => {
  const { attributes = {} } = envDetector.detect()
  const given = process.env['OTEL_RESOURCE_ATTRIBUTES'] ?? ''
  const unread = Object.keys(attributes).every((name) => name === 'service.name')
  if (given.trim() !== '' && unread && !/(^|,)\s*service\.name=/.test(given))
    log.warn({}, 'OTEL_RESOURCE_ATTRIBUTES is ignored, because it is not of the form key=value,key=value')
  return defaultResource()
    .merge(resourceFromAttributes({ 'service.name': 'rollcall', 'service.version': version, 'host.name': hostname() }))
    .merge(resourceFromAttributes(attributes))
}

/** Content of the file that a standard variable names. The SDK reports a file that cannot be read. */
const fileOf = (name: string): Buffer | undefined => {
  const path = process.env[`OTEL_EXPORTER_OTLP_TRACES_${name}`] || process.env[`OTEL_EXPORTER_OTLP_${name}`]
  try {
    return path ? bytesNow(path) : undefined
  } catch {
    return undefined
  }
}

/** Connections to the collector. They are closed at a stop, also while the collector does not answer. */
const agentFor = (protocol: string): Agent =>
  protocol === 'https:'
    ? new SecureAgent({
        keepAlive: true,
        ca: fileOf('CERTIFICATE'),
        cert: fileOf('CLIENT_CERTIFICATE'),
        key: fileOf('CLIENT_KEY'),
      })
    : new Agent({ keepAlive: true })

/**
 * Opens a tracer that sends spans to this URL by OTLP over HTTP, in batches, from a bounded queue. The SDK reads the standard
 * variables; a wrong value is one WARN line, and the default is used.
 */
export const openTracer = (endpoint: string, log: Log, clock: Pick<Clock, 'after'>): Tracer => {
  const messages = messagesTo(log, (some) => onRejected(some))
  diag.setLogger(messages, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
  let [agent, ended]: [Agent | undefined, boolean] = [undefined, false]
  const exporter = new OTLPTraceExporter({
    url: endpoint,
    httpAgentOptions: (protocol) => (agent = agentFor(protocol)),
    // The SDK requests the headers before each attempt, so an error ends its attempts after the close.
    headers: () => (ended ? Promise.reject(new Error('the service has stopped')) : Promise.resolve({})),
  })
  const { exporter: counting, bounded, onRejected, counts, end } = sending(exporter, log, endpoint)
  const queue = bounded(new BatchSpanProcessor(counting, { maxQueueSize: QUEUE }))
  const provider = new BasicTracerProvider({ resource: resourceFor(log), spanProcessors: [queue] })
  return {
    ...spansOf(provider.getTracer('rollcall', version), () => contexts.disable()),
    counts,
    close: async () => {
      end()
      const flushed = provider.shutdown().catch(() => undefined)
      await withTimeout(clock, FLUSH_MS, flushed, () => undefined)
      ended = true
      agent?.destroy()
    },
  }
}

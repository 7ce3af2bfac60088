import {
  type Context,
  context,
  createTraceState,
  ROOT_CONTEXT,
  type Span as SdkSpan,
  type Tracer as SdkTracer,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api'
import { parentIn, type Span, type TraceHeaders, type Tracer } from '../../base/tracing.ts'

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

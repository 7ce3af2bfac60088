import { Refusal } from './errors.ts'

/** Values of a span by the names of the semantic conventions. They hold no secret, no personal data, no context value. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>

/** A span of a trace. Only the tracer that began the span reads it. */
export type Span = object

/** Headers of W3C Trace Context. */
export type TraceHeaders = { readonly traceparent?: string; readonly tracestate?: string }

/** Number of spans since the start: sent, lost because the collector failed, lost because the queue was full. */
export type SpanCounts = { readonly sent: number; readonly failed: number; readonly dropped: number }

/**
 * PORT. Traces. No call waits, and no call fails. Without tracing there is no tracer, and no code of this file runs for
 * a request without the header `traceparent`.
 */
export type Tracer = {
  /**
   * Begins a span: in the trace of the headers, if they are given and valid, else in a new trace. Without `parent` it is
   * a child of the current span.
   */
  readonly begin: (name: string, kind: 'server' | 'client' | 'internal', parent?: TraceHeaders) => Span
  /** Runs work with the span as the current span, also in the asynchronous continuations of the work. */
  readonly within: <T>(span: Span, work: () => T) => T
  readonly current: () => Span | undefined
  /** True until the end of a span that the sampler chose. */
  readonly recording: (span: Span) => boolean
  readonly name: (span: Span, name: string) => void
  readonly set: (span: Span, attributes: Attributes) => void
  readonly event: (span: Span, name: string, attributes: Attributes) => void
  /** Ends the span; with an error type the span is marked as failed. A second end has no effect. */
  readonly end: (span: Span, errorType?: string) => void
  readonly traceId: (span: Span) => string
  /** Headers that continue the trace of the current span in another service. */
  readonly headers: () => TraceHeaders
  readonly counts: () => SpanCounts
  /** Sends the finished spans, for a limited time. */
  readonly close: () => Promise<void>
}

/** Maximum length of a `traceparent` header that is parsed; version 00 has 55 characters. */
const LONGEST = 512
const TRACEPARENT = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-.*)?$/

/** Parses a `traceparent` header (W3C Trace Context); undefined for a malformed one. */
export const parentIn = (
  header: unknown,
): { readonly traceId: string; readonly spanId: string; readonly flags: number } | undefined => {
  if (typeof header !== 'string' || header.length > LONGEST) return undefined
  const [, version, traceId, spanId, flags, rest] = TRACEPARENT.exec(header) ?? []
  if (traceId === undefined || spanId === undefined || (version === '00' && rest !== undefined)) return undefined
  return { traceId, spanId, flags: Number.parseInt(flags!, 16) }
}

/** Type of an error for a span: the reason of a refusal, the code or the name of another error, never its message. */
const errorTypeOf = (error: unknown): string => {
  if (error instanceof Refusal) return error.reason
  if (!(error instanceof Error)) return '_OTHER'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}

/** Ends a span after an error. A refusal of the caller is no failure of the service. */
const endAfter = (tracer: Tracer, span: Span, error: unknown): void => {
  const isOfCaller = error instanceof Refusal && error.status < 500
  if (isOfCaller) tracer.set(span, { 'rollcall.refusal': error.reason })
  tracer.end(span, isOfCaller ? undefined : errorTypeOf(error))
}

/** Runs work in a span, which ends with the promise of the work. */
export const inSpan = async <T>(tracer: Tracer, span: Span, work: (span: Span) => Promise<T>): Promise<T> => {
  try {
    const result = await tracer.within(span, () => work(span))
    tracer.end(span)
    return result
  } catch (error) {
    endAfter(tracer, span, error)
    throw error
  }
}

/** Runs work in a child of the current span, if the sampler chose the trace; else only runs the work. */
export const inChild = <T>(
  tracer: Tracer,
  name: string,
  kind: 'client' | 'internal',
  attributes: Attributes,
  work: (span?: Span) => Promise<T>,
): Promise<T> => {
  const parent = tracer.current()
  if (parent === undefined || !tracer.recording(parent)) return work()
  const span = tracer.begin(name, kind)
  tracer.set(span, attributes)
  return inSpan(tracer, span, work)
}

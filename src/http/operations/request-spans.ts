import type { RequestListener } from 'node:http'
import type { Span, Tracer } from '../../base/tracing.ts'
import type { Answered } from '../wire/reply.ts'

declare module 'node:http' {
  interface IncomingMessage {
    /** Span of the request, with tracing. */
    span?: Span
    /** Id of the trace of the request: that of its span, else that of a valid `traceparent`. */
    traceId?: string | undefined
    /**
     * Runs work in the span, because the events of a body arrive outside of it. An unrecorded request of a hot route
     * needs no context, whose cost is a fifth of an evaluation.
     */
    inSpan?: (work: () => void, hot: boolean | undefined) => void
  }
}

/** Host of the header `Host`, if it is a host; the header may be any text. */
const HOST = /^(\[[\da-f:.]{2,45}\]|[\w.-]{1,253})(?::(\d{1,5}))?$/i

const addressed = (host: string | undefined) => {
  const [, address, port] = HOST.exec(host ?? '') ?? []
  return { 'server.address': address, 'server.port': port === undefined ? undefined : Number(port) }
}

/** Spans of requests, by the semantic conventions of HTTP servers, without query, path, address and user agent. */
export const requestSpans = (tracer: Tracer, scheme: 'http' | 'https') => ({
  /** Begins the span of each request, and runs its handler in it. */
  handling:
    (handle: RequestListener): RequestListener =>
    (request, response) => {
      const { method = '_OTHER', headers, httpVersion } = request
      const span = tracer.begin(method, 'server', headers as Parameters<Tracer['begin']>[2])
      request.span = span
      request.traceId = tracer.traceId(span)
      const recording = tracer.recording(span)
      request.inSpan = (work, hot) => {
        if (hot && !recording) return work()
        if (!recording) response.once('close', () => tracer.end(span))
        tracer.within(span, work)
      }
      if (!recording) return handle(request, response)
      tracer.set(span, {
        'http.request.method': method,
        'url.scheme': scheme,
        'network.protocol.version': httpVersion,
        ...addressed(headers.host),
      })
      response.once('close', () => tracer.end(span))
      tracer.within(span, () => handle(request, response))
    },
  /** Ends the span of a request when its answer is sent. */
  answered:
    (next: Answered): Answered =>
    (request, reply, refusal) => {
      const { span } = request.raw
      next(request, reply, refusal)
      if (span === undefined || !tracer.recording(span)) return
      const route = request.spec?.url
      const { statusCode } = reply
      tracer.set(span, {
        'http.route': route,
        'http.response.status_code': statusCode,
        'rollcall.refusal': refusal?.reason,
      })
      if (route !== undefined) tracer.name(span, `${request.method} ${route}`)
      tracer.end(span, statusCode >= 500 ? (refusal?.reason ?? String(statusCode)) : undefined)
    },
})

export type RequestSpans = ReturnType<typeof requestSpans>

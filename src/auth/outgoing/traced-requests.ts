import { endAfter, type Tracer } from '../../base/tracing.ts'

type Outgoing = {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Continues the trace of the current span in requests to other services: each request has a span, by the semantic
 * conventions of HTTP clients without the address, and the headers `traceparent` and `tracestate`.
 */
export const tracedRequests =
  <R extends Outgoing, A extends { readonly status: number }>(tracer: Tracer, send: (request: R) => Promise<A>) =>
  async (request: R): Promise<A> => {
    const sendTraced = () => send({ ...request, headers: { ...request.headers, ...tracer.headers() } })
    const parent = tracer.current()
    if (parent === undefined || !tracer.recording(parent)) return sendTraced()
    const span = tracer.begin(request.method, 'client')
    try {
      const { protocol, hostname, port } = new URL(request.url)
      tracer.set(span, {
        'http.request.method': request.method,
        'server.address': hostname,
        'server.port': port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
      })
      const answer = await tracer.within(span, sendTraced)
      const { status } = answer
      tracer.set(span, { 'http.response.status_code': status })
      tracer.end(span, status >= 400 ? String(status) : undefined)
      return answer
    } catch (error) {
      endAfter(tracer, span, error)
      throw error
    }
  }

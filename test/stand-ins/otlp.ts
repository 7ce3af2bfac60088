import type { ServerResponse } from 'node:http'
import protobuf from 'protobufjs'
import { listen, type Scope } from '../auth/stand-ins/listen.ts'

/** Messages of traces with the field numbers of the published protobuf definitions (opentelemetry.proto.trace.v1). */
const root = protobuf.Root.fromJSON({
  nested: {
    Request: { fields: { resourceSpans: { rule: 'repeated', type: 'ResourceSpans', id: 1 } } },
    ResourceSpans: {
      fields: {
        resource: { type: 'Resource', id: 1 },
        scopeSpans: { rule: 'repeated', type: 'ScopeSpans', id: 2 },
        schemaUrl: { type: 'string', id: 3 },
      },
    },
    Resource: { fields: { attributes: { rule: 'repeated', type: 'KeyValue', id: 1 } } },
    ScopeSpans: {
      fields: {
        scope: { type: 'Scope', id: 1 },
        spans: { rule: 'repeated', type: 'Span', id: 2 },
        schemaUrl: { type: 'string', id: 3 },
      },
    },
    Scope: { fields: { name: { type: 'string', id: 1 }, version: { type: 'string', id: 2 } } },
    Span: {
      fields: {
        traceId: { type: 'bytes', id: 1 },
        spanId: { type: 'bytes', id: 2 },
        traceState: { type: 'string', id: 3 },
        parentSpanId: { type: 'bytes', id: 4 },
        name: { type: 'string', id: 5 },
        kind: { type: 'int32', id: 6 },
        startTimeUnixNano: { type: 'fixed64', id: 7 },
        endTimeUnixNano: { type: 'fixed64', id: 8 },
        attributes: { rule: 'repeated', type: 'KeyValue', id: 9 },
        events: { rule: 'repeated', type: 'Event', id: 11 },
        status: { type: 'Status', id: 15 },
        flags: { type: 'fixed32', id: 16 },
      },
    },
    Event: {
      fields: {
        timeUnixNano: { type: 'fixed64', id: 1 },
        name: { type: 'string', id: 2 },
        attributes: { rule: 'repeated', type: 'KeyValue', id: 3 },
      },
    },
    Status: { fields: { message: { type: 'string', id: 2 }, code: { type: 'int32', id: 3 } } },
    KeyValue: { fields: { key: { type: 'string', id: 1 }, value: { type: 'AnyValue', id: 2 } } },
    AnyValue: {
      oneofs: { value: { oneof: ['stringValue', 'boolValue', 'intValue', 'doubleValue'] } },
      fields: {
        stringValue: { type: 'string', id: 1 },
        boolValue: { type: 'bool', id: 2 },
        intValue: { type: 'int64', id: 3 },
        doubleValue: { type: 'double', id: 4 },
      },
    },
  },
})
const requests = root.lookupType('Request')

type Value = string | number | boolean
type Pairs = readonly { readonly key: string; readonly value: Readonly<Record<string, Value>> }[]
type Attributes = Readonly<Record<string, Value>>
type RawSpan = {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly traceState?: string
  readonly attributes?: Pairs
  readonly events?: readonly { readonly name: string; readonly attributes?: Pairs }[]
  readonly status?: { readonly code?: number; readonly message?: string }
}

/** A received span; `kind` is 1 internal, 2 server, 3 client. Ids are in hexadecimal digits. */
export type ReceivedSpan = {
  readonly traceId: string
  readonly id: string
  readonly parent: string
  readonly name: string
  readonly kind: number
  readonly state: string
  readonly attributes: Attributes
  readonly events: readonly { readonly name: string; readonly attributes: Attributes }[]
  readonly failed: boolean
}

const hex = (base64 = ''): string => Buffer.from(base64, 'base64').toString('hex')
const attributesOf = (pairs: Pairs = []): Attributes =>
  Object.fromEntries(pairs.map(({ key, value }) => [key, Object.values(value)[0]!]))

const spanOf = (span: RawSpan): ReceivedSpan => ({
  traceId: hex(span.traceId),
  id: hex(span.spanId),
  parent: hex(span.parentSpanId),
  name: span.name,
  kind: span.kind,
  state: span.traceState ?? '',
  attributes: attributesOf(span.attributes),
  events: (span.events ?? []).map(({ name, attributes }) => ({ name, attributes: attributesOf(attributes) })),
  failed: span.status?.code === 2,
})

type Decoded = {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes?: Pairs }
    readonly scopeSpans: readonly { readonly spans: readonly RawSpan[] }[]
  }[]
}

/**
 * A collector that receives spans by OTLP over HTTP. `answer` replaces its answer; undefined leaves a request without
 * one. It closes after the test.
 */
export const collector = async (t: Scope) => {
  const spans: ReceivedSpan[] = []
  const state: {
    answer: (response: ServerResponse) => void
    requests: number
    resource: Attributes
    headers: Readonly<Record<string, unknown>>
  } = { answer: (response) => void response.writeHead(200).end(), requests: 0, resource: {}, headers: {} }
  const url = await listen(t, (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      state.requests++
      state.headers = { ...request.headers, path: request.url }
      const message = requests.decode(Buffer.concat(chunks))
      const decoded = requests.toObject(message, { bytes: String, longs: Number }) as Decoded
      for (const { resource, scopeSpans } of decoded.resourceSpans) {
        state.resource = attributesOf(resource.attributes)
        for (const scope of scopeSpans) spans.push(...scope.spans.map(spanOf))
      }
      state.answer(response)
    })
  })
  return Object.assign(state, { spans, url })
}

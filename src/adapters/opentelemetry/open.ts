import { Agent } from 'node:http'
import { Agent as SecureAgent } from 'node:https'
import { hostname } from 'node:os'
import { context, DiagLogLevel, diag } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { defaultResource, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { type Clock, withTimeout } from '../../base/clock.ts'
import { bytesNow } from '../../base/regular-file.ts'
import type { Tracer } from '../../base/tracing.ts'
import { version } from '../../base/version.ts'
import { QUEUE, sending } from './sending.ts'
import { spansOf } from './spans.ts'

// One context manager serves all tracers of the process.
const contexts = new AsyncLocalStorageContextManager()
context.setGlobalContextManager(contexts)

/** Timeout in ms for sending the last spans at a stop. */
const FLUSH_MS = 2_000

type Log = {
  readonly warn: (record: object, message: string) => void
  readonly info: (record: object, message: string) => void
}

/** Logs each message of the SDK once. */
const messagesTo = (log: Log) => {
  const logged = new Set<string>()
  const warn = (message: string): void => {
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

/** URL for spans: the address of a collector without a path gets the path of the protocol. */
const addressOf = (endpoint: string): string => {
  const url = new URL(endpoint)
  return url.pathname === '/' ? `${url.origin}/v1/traces` : endpoint
}

/**
 * Opens a tracer that sends spans by OTLP over HTTP, in batches, from a bounded queue. The SDK reads the standard
 * variables; a wrong value is one WARN line, and the default is used.
 */
export const openTracer = (endpoint: string, log: Log, clock: Pick<Clock, 'after'>): Tracer => {
  diag.setLogger(messagesTo(log), { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
  let [agent, ended]: [Agent | undefined, boolean] = [undefined, false]
  const exporter = new OTLPTraceExporter({
    url: addressOf(endpoint),
    httpAgentOptions: (protocol) => (agent = agentFor(protocol)),
    // The SDK requests the headers before each attempt, so an error ends its attempts after the close.
    headers: () => (ended ? Promise.reject(new Error('the service has stopped')) : Promise.resolve({})),
  })
  const { exporter: counting, bounded, counts, end } = sending(exporter, log, addressOf(endpoint))
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

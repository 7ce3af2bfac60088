import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base'
import t, { type Test } from 'tap'
import { openTracer, spansOf } from '../../src/adapters/opentelemetry/open.ts'
import { tracerOf } from '../../src/app/telemetry/tracing.ts'
import { inChild, inSpan, type Span, type Tracer } from '../../src/base/tracing.ts'
import { loadConfig } from '../../src/config/load.ts'
import { virtualClock } from '../virtual-clock.ts'

/** Sets standard variables until the end of a test. */
const withVariables = (t: Test, variables: Readonly<Record<string, string>>): void => {
  Object.assign(process.env, variables)
  t.teardown(() => {
    for (const name of Object.keys(variables)) delete process.env[name]
  })
}

const opened = (endpoint = 'http://127.0.0.1:1/v1/traces') => {
  const lines: string[] = []
  const note = (record: object, message: string) => void lines.push(`${message} ${JSON.stringify(record)}`)
  return { lines, tracer: openTracer(endpoint, { warn: note, info: note }, virtualClock()) }
}

await t.test('each wrong standard variable is one warning', async (t) => {
  withVariables(t, {
    OTEL_TRACES_SAMPLER: 'nonsense',
    OTEL_RESOURCE_ATTRIBUTES: 'no pair',
    OTEL_EXPORTER_OTLP_TIMEOUT: 'soon',
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=canary-secret',
    OTEL_BSP_SCHEDULE_DELAY: 'later',
  })
  const { lines, tracer } = opened()
  const names = [
    'OTEL_TRACES_SAMPLER',
    'OTEL_RESOURCE_ATTRIBUTES',
    'OTEL_EXPORTER_OTLP_TIMEOUT',
    'OTEL_BSP_SCHEDULE_DELAY',
  ]
  for (const name of names) t.equal(lines.filter((line) => line.includes(name)).length, 1, name)
  t.equal(lines.length, names.length)
  t.notMatch(lines.join(), 'canary')
  await tracer.close()
})

await t.test('an unreachable collector is one warning, and the stop ends', async (t) => {
  withVariables(t, { OTEL_EXPORTER_OTLP_TIMEOUT: '1' })
  const { lines, tracer } = opened()
  tracer.end(tracer.begin('lost', 'internal', {}))
  await tracer.close()
  t.match(lines, [/^the collector of traces is unreachable.*http:\/\/127\.0\.0\.1:1\/v1\/traces/])
  t.strictSame(tracer.counts(), { sent: 0, failed: 1, dropped: 0 })
})

await t.test('a request that is not sampled has an id and headers, and no child spans', async (t) => {
  withVariables(t, { OTEL_TRACES_SAMPLER: 'parentbased_always_off' })
  const { tracer } = opened()
  const root = tracer.begin('GET', 'server', {})
  t.notOk(tracer.recording(root))
  const inside = async () => {
    t.equal(tracer.current(), root)
    t.match(tracer.headers(), { traceparent: `00-${tracer.traceId(root)}-` })
    t.match(tracer.headers().traceparent, /-00$/)
  }
  await tracer.within(root, () => inChild(tracer, 'child', 'internal', {}, inside))
  tracer.end(root)
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
  const sampled = tracer.begin('GET', 'server', { traceparent, tracestate: 'vendor=1' })
  t.ok(tracer.recording(sampled), 'the caller decides')
  t.equal(tracer.within(sampled, tracer.headers).tracestate, 'vendor=1')
  await t.rejects(
    inSpan(tracer, sampled, () => Promise.reject(new Error('canary'))),
    /canary/,
  )
  t.notOk(tracer.recording(sampled))
  await tracer.close()
})

await t.test('the context manager is idle only after the last span with a context', async (t) => {
  opened()
  let idle = 0
  const tracer = spansOf(new BasicTracerProvider().getTracer('test'), () => idle++)
  const [one, other, without] = [1, 2, 3].map(() => tracer.begin('GET', 'server', {})) as [Span, Span, Span]
  const later = (span: Span, end: () => void) =>
    tracer.within(span, async () => {
      await Promise.resolve()
      end()
      await Promise.resolve()
      return tracer.current()
    })
  const [current] = await Promise.all([later(one, () => tracer.end(other)), later(other, () => undefined)])
  t.equal(current, one, 'the end of another span keeps the context')
  t.equal(idle, 0)
  tracer.end(without)
  t.equal(idle, 0, 'a span without a context')
  tracer.end(one)
  tracer.end(one)
  t.equal(idle, 1)
  const unrecorded = tracer.begin('GET', 'server', { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-00` })
  t.notOk(tracer.recording(unrecorded))
  tracer.within(unrecorded, () => undefined)
  tracer.end(unrecorded)
  t.equal(idle, 2, 'a span that is not recorded')
})

await t.test('the standard variables name the collector, or switch traces off', async (t) => {
  const endpointOf = (env: Readonly<Record<string, string>>, flags = {}) =>
    loadConfig({ env, flags }).config.tracing.otlp_endpoint
  const base = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/' }
  t.equal(endpointOf({}), undefined)
  t.equal(endpointOf(base), 'http://collector:4318/v1/traces')
  t.equal(endpointOf({ ...base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://t/x' }), 'https://t/x')
  for (const [given, used] of [
    ['http://t/x/', 'http://t/x/'],
    ['http://t:4318', 'http://t:4318/'],
    ['http://t:4318/', 'http://t:4318/'],
    ['https://t/x?tenant=shop', 'https://t/x?tenant=shop'],
  ] as const)
    t.equal(endpointOf({ ...base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: given }), used, `${given} is used unchanged`)
  t.equal(endpointOf({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://t/x/' }), 'http://t/x/v1/traces')
  for (const [given, used] of [
    ['http://own', 'http://own/v1/traces'],
    ['http://own:4318/', 'http://own:4318/v1/traces'],
    ['http://own/x/', 'http://own/x/'],
  ] as const)
    t.equal(endpointOf(base, { 'tracing.otlp_endpoint': given }), used)
  for (const wrong of ['collector:4318', 'http://name:secret@collector'])
    for (const name of ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'])
      t.throws(() => endpointOf({ [name]: wrong }), new RegExp(name))
  const { config } = loadConfig({ env: base })
  const logger = { warn: () => undefined, info: () => undefined } as unknown as Parameters<typeof tracerOf>[1]
  const open = (): Promise<Tracer | undefined> => tracerOf(config, logger, virtualClock())
  for (const off of [{ OTEL_SDK_DISABLED: 'TRUE' }, { OTEL_TRACES_EXPORTER: 'none' }])
    await t.test(JSON.stringify(off), async (t) => {
      withVariables(t, off)
      t.equal(await open(), undefined)
    })
  const tracer = await open()
  t.ok(tracer)
  await tracer?.close()
})

import type { ReadableSpan, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace-base'
import t from 'tap'
import { QUEUE, sending } from '../../src/adapters/opentelemetry/open.ts'
import { parentIn } from '../../src/base/tracing.ts'

type Done = Parameters<SpanExporter['export']>[1]
const span = {} as ReadableSpan

/** A queue of the SDK that the test empties, and a collector that the test answers for. */
const sendingOf = () => {
  const lines: string[] = []
  const log = (level: string) => (_: object, message: string) => void lines.push(`${level} ${message.slice(0, 23)}`)
  const pending: Done[] = []
  const exporter: SpanExporter = {
    export: (_, done) => void pending.push(done),
    shutdown: () => Promise.resolve(),
  }
  const made = sending(exporter, { warn: log('WARN'), info: log('INFO') }, 'http://collector')
  let queued = 0
  const queue = { onEnd: () => void queued++ } as unknown as SpanProcessor
  const results: unknown[] = []
  const batch = (spans: number) =>
    made.exporter.export(
      Array.from({ length: spans }, () => span),
      (result) => void results.push(result.code),
    )
  return { ...made, lines, pending, results, batch, bounded: made.bounded(queue), queued: () => queued }
}

await t.test('a full queue drops spans and counts them', (t) => {
  const { bounded, queued, counts, batch } = sendingOf()
  for (let n = 0; n < QUEUE + 100; n++) bounded.onEnd(span)
  t.strictSame([queued(), counts().dropped], [QUEUE, 100])
  batch(512)
  for (let n = 0; n < 600; n++) bounded.onEnd(span)
  t.strictSame([queued(), counts().dropped], [QUEUE + 512, 188])
  t.end()
})

await t.test('a failing collector is one warning until it works again, also at the stop', (t) => {
  const { lines, pending, results, counts, batch, end } = sendingOf()
  const answer = (code: number) => pending.shift()!(code === 0 ? { code } : { code, error: new Error('refused') })
  for (const code of [1, 1, 0, 1]) {
    batch(10)
    answer(code)
  }
  t.strictSame(lines, ['WARN the collector of traces', 'INFO the collector of traces', 'WARN the collector of traces'])
  end()
  batch(5)
  t.equal(pending.length, 0, 'a stop sends nothing to a failing collector')
  t.strictSame(counts(), { sent: 10, failed: 35, dropped: 0 })
  t.strictSame(results, [0, 0, 0, 0, 0], 'the SDK reports no failure once more')
  t.end()
})

await t.test('spans of an accepted batch that the collector rejected count as failed', (t) => {
  const { lines, pending, counts, batch, onRejected, end } = sendingOf()
  const accepted = (spans: number, rejected?: number) => {
    batch(spans)
    if (rejected !== undefined) onRejected({ spans: rejected, message: 'queue full' })
    pending.shift()!({ code: 0 })
  }
  accepted(10, 4)
  accepted(10, 0)
  accepted(10, 500)
  t.strictSame(counts(), { sent: 16, failed: 14, dropped: 0 })
  t.strictSame(lines, ['WARN the collector of traces', 'INFO the collector of traces', 'WARN the collector of traces'])
  end()
  accepted(3)
  t.strictSame(counts(), { sent: 19, failed: 14, dropped: 0 }, 'a stop sends to a collector that takes some spans')
  t.end()
})

await t.test('parses a traceparent as W3C Trace Context defines it', (t) => {
  const [trace, parent] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7']
  t.strictSame(parentIn(`00-${trace}-${parent}-01`), { traceId: trace, spanId: parent, flags: 1 })
  t.strictSame(parentIn(`cc-${trace}-${parent}-00-more`), { traceId: trace, spanId: parent, flags: 0 })
  for (const wrong of [
    '',
    '00',
    `00-${trace}-${parent}-01-x`,
    `cc-${trace}-${parent}-01-${'x'.repeat(512)}`,
    undefined,
  ])
    t.equal(parentIn(wrong), undefined)
  t.end()
})

import t from 'tap'
import { Refusal } from '../../src/base/errors.ts'
import { enveloper } from '../../src/commands/envelope.ts'
import { executor } from '../../src/commands/execute.ts'
import type { EventLog } from '../../src/events/log.ts'
import type { Actor } from '../../src/events/meta.ts'
import { historyReadRecorder } from '../../src/jobs/history-reads.ts'
import { memoryLog } from '../memory-log.ts'
import { virtualClock } from '../virtual-clock.ts'

const ROUTE = '/audit/v1/events'
const sealer = { seal: async (_: string, text: string) => text, open: async (text: string) => ({ text }) }
const ada: Actor = { kind: 'token', id: '00000000-0000-4000-8000-000000000001', method: 'token' }
const bob: Actor = { kind: 'token', id: '00000000-0000-4000-8000-000000000002', method: 'token' }
const exported = { format: 'ndjson', filter: {}, fromIndex: 0, toIndex: 2_000, personal: false }

/** Faults of the next appends: before or after the write. */
type Fault = 'before' | 'after'

const world = () => {
  const clock = virtualClock('2026-11-03T13:02:30.000Z')
  const log = memoryLog()
  const faults: Fault[] = []
  const errors: unknown[] = []
  const append: EventLog['append'] = async (...asked) => {
    const fault = faults.shift()
    if (fault === 'before') throw new Refusal('backend_unavailable')
    const appended = await log.append(...asked)
    if (fault === 'after') throw new Refusal('backend_unavailable')
    return appended
  }
  const { execute } = executor({ ...log, append }, enveloper(sealer, 'test', clock.now), { clock })
  const reads: (readonly [string, string])[] = []
  const recorder = historyReadRecorder(execute, clock, {
    onRead: (...read) => reads.push(read),
    onError: (error) => errors.push(error),
  })
  const written = () =>
    log.all.map(({ type, data, meta }) => ({
      type,
      ...(JSON.parse(data) as object),
      actor: (JSON.parse(meta) as { readonly actor: { readonly id?: string } }).actor.id,
    }))
  return { clock, log, faults, errors, reads, recorder, written }
}

await t.test('reads of the history by one caller in one minute are recorded as one event', async (t) => {
  const { clock, reads, recorder, written } = world()
  recorder.counted(ada, { route: ROUTE, format: 'json', events: 100, opened: false })
  recorder.counted(ada, { route: '/audit/v1/events/:position', format: 'json', events: 1, opened: true })
  recorder.counted(bob, { route: ROUTE, format: 'json', events: 5, opened: false })
  t.strictSame(reads, [
    [ROUTE, 'json'],
    ['/audit/v1/events/:position', 'json'],
    [ROUTE, 'json'],
  ])
  await clock.advance(29_999)
  t.strictSame(written(), [], 'the minute is not over')
  await clock.advance(1)
  const minute = { from: '2026-11-03T13:02:00.000Z', to: '2026-11-03T13:03:00.000Z' }
  t.match(written(), [
    { type: 'HistoryRead', actor: ada.id, ...minute, requests: 2, events: 101, opened: 1, routes: { [ROUTE]: 1 } },
    { type: 'HistoryRead', actor: bob.id, ...minute, requests: 1, events: 5, opened: 0 },
  ])
  await clock.advance(120_000)
  t.equal(written().length, 2, 'a minute without readings has no event')
  recorder.counted(ada, { route: ROUTE, format: 'json', events: 1, opened: false })
  await recorder.close()
  t.equal(written().length, 3, 'the end writes all counts')
})

await t.test('an export is recorded once a minute, and at most ten of a caller', async (t) => {
  const { clock, recorder, written } = world()
  const export_ = (filter: Readonly<Record<string, string>>, actor = ada) =>
    recorder.exported({ actor }, ROUTE, { ...exported, filter })
  await export_({})
  await export_({})
  await export_({}, bob)
  for (let n = 0; n < 20; n++) await export_({ type: `T${n}` })
  t.equal(written().filter(({ type }) => type === 'HistoryExported').length, 11)
  await clock.advance(60_000)
  t.match(written().at(-1), { type: 'HistoryRead', actor: ada.id, requests: 12 })
  await export_({})
  t.equal(written().filter(({ type }) => type === 'HistoryExported').length, 12, 'a new minute records it again')
  await recorder.close()
})

await t.test('a live stream continues a recorded one for ten minutes after its end, within its range', async (t) => {
  const { clock, recorder } = world()
  const stream = { holder: 'ada', actor: ada, filter: {}, fromIndex: 5 }
  t.notOk(recorder.continues(stream), 'nothing is recorded')
  recorder.followed(stream)
  await clock.advance(599_999)
  t.ok(recorder.continues(stream))
  t.notOk(recorder.continues({ ...stream, fromIndex: 4 }), 'an earlier event')
  t.notOk(recorder.continues({ ...stream, actor: bob }), 'another caller')
  await clock.advance(1)
  t.notOk(recorder.continues(stream))
  await recorder.close()
})

await t.test('a holder that begins thousands of live streams evicts only its own', async (t) => {
  const { recorder } = world()
  const ofBob = { holder: 'bob', actor: bob, filter: {}, fromIndex: 5 }
  recorder.followed(ofBob)
  const [first, ...rest] = Array.from({ length: 5_000 }, (_, n) => ({
    holder: 'ada',
    actor: n % 2 === 0 ? ada : { ...ada, id: `token ${n}` },
    filter: { type: `T${n}` },
    fromIndex: 5,
  }))
  for (const stream of [first!, ...rest]) recorder.followed(stream)
  t.notOk(recorder.continues(first!), 'the list of the holder is bounded')
  t.equal(rest.filter(recorder.continues).length, 16)
  t.ok(recorder.continues(rest.at(-1)!))
  t.ok(recorder.continues(ofBob), 'another holder keeps its stream')
  for (let n = 0; n < 1_000; n++) recorder.followed({ ...ofBob, holder: `holder ${n}` })
  t.notOk(recorder.continues(ofBob), 'the number of holders is bounded')
  await recorder.close()
})

await t.test('counts of many callers are written early, and each read is counted once', async (t) => {
  const { clock, errors, recorder, written } = world()
  const callers = Array.from({ length: 2_500 }, (_, n): Actor => ({ ...ada, id: `token ${n}` }))
  const read = { route: ROUTE, format: 'json', events: 1, opened: false }
  for (const caller of callers.slice(0, 1_200)) recorder.counted(caller, read)
  await clock.advance(0)
  t.ok(written().length >= 1_000, 'before the minute is over')
  for (const caller of callers.slice(1_200)) recorder.counted(caller, read)
  await recorder.close()
  t.strictSame(errors, [])
  t.equal(new Set(written().map(({ actor }) => actor)).size, 2_500)
  t.equal(written().length, 2_500)
})

await t.test('callers beyond the bound are reported while the log is unavailable', async (t) => {
  const { clock, faults, errors, recorder, written } = world()
  faults.push(...Array.from({ length: 3 }, () => 'before' as const))
  const read = { route: ROUTE, format: 'json', events: 1, opened: false }
  for (let n = 0; n < 2_010; n++) recorder.counted({ ...ada, id: `token ${n}` }, read)
  const message = '2000 callers wait for the event log; reads of further callers are not counted'
  t.match(errors, [{ message }], 'in one report')
  await recorder.exported({ actor: bob }, ROUTE, exported).catch(() => undefined)
  await clock.advance(60_000)
  await recorder.close()
  t.equal(written().filter(({ type }) => type === 'HistoryRead').length, 2_000)
})

await t.test('an export that cannot be recorded is refused', async (t) => {
  const { faults, recorder, written } = world()
  faults.push('before')
  await t.rejects(recorder.exported({ actor: ada }, ROUTE, exported), /temporarily unavailable/)
  t.strictSame(written(), [])
  faults.push('before')
  const refused = await Promise.allSettled([1, 2].map(() => recorder.exported({ actor: ada }, ROUTE, exported)))
  t.strictSame(
    refused.map(({ status }) => status),
    ['rejected', 'rejected'],
    'an equal export waits for the record of the first one',
  )
  await recorder.exported({ actor: ada }, ROUTE, exported)
  t.equal(written().length, 1)
  await recorder.close()
})

await t.test('the recorded number of history reads is correct and written once, despite faults', async (t) => {
  const { clock, faults, errors, recorder, written } = world()
  recorder.counted(ada, { route: ROUTE, format: 'json', events: 1, opened: false })
  faults.push('before', 'after')
  await clock.advance(60_000)
  recorder.counted(ada, { route: ROUTE, format: 'json', events: 2, opened: false })
  await clock.advance(120_000)
  t.ok(errors.length > 0)
  t.strictSame(
    written().map((event) => (event as { readonly events?: number }).events),
    [1, 2],
  )
  await recorder.close()
  t.equal(written().length, 2)
})

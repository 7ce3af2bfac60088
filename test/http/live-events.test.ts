import { EventEmitter } from 'node:events'
import t from 'tap'
import { FULL } from '../../src/access/reach.ts'
import type { LogPlace } from '../../src/history/places.ts'
import { liveEvents } from '../../src/http/history/live-events.ts'
import type { EventsCall } from '../../src/http/history/query.ts'
import { streamSlots } from '../../src/http/history/stream-slots.ts'
import type { Service } from '../../src/http/services/service.ts'
import { virtualClock } from '../virtual-clock.ts'

const place = (index: number): LogPlace => ({ index, position: BigInt(index), time: '' })

/** Live stream after event 7 of a log in which no event passes the filter. */
const streaming = async () => {
  const clock = virtualClock()
  const state = { head: 7, checks: 0, valid: true, sent: [] as string[], ended: false }
  const service = {
    clock,
    history: {
      head: async () => place(state.head),
      span: async (_: unknown, { afterIndex }: { readonly afterIndex: number }) => ({ low: place(afterIndex) }),
      exported: async function* () {
        yield { place: place(state.head), event: undefined }
      },
    },
    seen: (_: bigint, withinMs: number) => clock.sleep(withinMs),
    historyStreams: streamSlots(1),
    historyReads: { continues: () => true, counted: () => undefined, followed: () => undefined },
    names: { tokenCookie: 'rollcall_token' },
    fresh: () => {
      state.checks++
      return state.valid
    },
    verifier: { cached: () => ({ reach: FULL }) },
  }
  const caller = { actor: { kind: 'authentication', method: 'token', id: 'a' }, reach: FULL }
  const headers = { 'last-event-id': '7', authorization: 'Bearer a' }
  const raw = { headers, rawHeaders: [], socket: new EventEmitter() }
  const request = { method: 'GET', headers, parameters: [], caller, raw, spec: { wants: {} } }
  const reply = { raw: new EventEmitter() }
  const call = { query: {}, params: {}, request, reply, caller, route: '/audit/v1/events' }
  const { chunks } = await liveEvents(service as unknown as Service)(call as unknown as EventsCall)
  void (async () => {
    for await (const chunk of chunks!) state.sent.push(String(chunk))
    state.ended = true
  })()
  await clock.settle()
  return { clock, state, at: (ms: number) => clock.advance(ms - clock.monotonic()) }
}

await t.test('the credential of an event stream is checked every second', async (t) => {
  const { state, at } = await streaming()
  t.strictSame(state.sent, ['retry: 2000\n\n'])
  await at(999)
  t.equal(state.checks, 0)
  await at(1_000)
  t.equal(state.checks, 1)
  state.valid = false
  await at(1_999)
  t.notOk(state.ended)
  await at(2_000)
  t.strictSame([state.checks, state.ended], [2, true])
})

await t.test('an event stream without an event sends a sign of life after 15 s', async (t) => {
  const { state, at } = await streaming()
  await at(14_999)
  t.equal(state.sent.length, 1)
  await at(15_000)
  t.strictSame(state.sent.slice(1), [': keep-alive\n\n'])
  await at(20_000)
  state.head = 12
  await at(29_999)
  t.equal(state.sent.length, 2)
  await at(30_000)
  t.strictSame(state.sent.slice(2), ['id: 12\n\n'], 'moves the cursor over examined events')
})

await t.test('an event stream ends after an hour', async (t) => {
  const { state, at } = await streaming()
  await at(3_599_999)
  t.notOk(state.ended)
  await at(3_600_000)
  t.ok(state.ended)
})

import { EventEmitter } from 'node:events'
import t from 'tap'
import { FULL, type Reach, reachOf } from '../../src/access/reach.ts'
import type { Right } from '../../src/access/rights.ts'
import type { LogPosition } from '../../src/history/ranges.ts'
import { reachAuthorizedNow } from '../../src/http/auth/reach-now.ts'
import { type EventsCall, namespaceIn, query } from '../../src/http/history/event-page.ts'
import { liveEvents } from '../../src/http/history/live-events.ts'
import { streamSlots } from '../../src/http/memory/stream-slots.ts'
import { requiredRightsOf } from '../../src/http/route/required-rights.ts'
import { virtualClock } from '../virtual-clock.ts'

const place = (index: number): LogPosition => ({ index, position: BigInt(index), time: '' })

/** Reach of a token with a right in a place. */
const reachIn = (place: string, right: Right): Reach => reachOf({ grants: [{ place, rights: [right] }] })

const wants = requiredRightsOf(
  {
    credential: 'required',
    namespace: 'none',
    right: 'audit.read',
    inOne: { right: 'history.read', namespaceIn },
  },
  query,
)

/** Live stream after event 7 of a log in which no event passes the filter. */
const streaming = async (reach: Reach = FULL, namespaceKey?: string) => {
  const clock = virtualClock()
  const state = { head: 7, checks: 0, valid: true, reach, sent: [] as string[], ended: false }
  const service = {
    clock,
    history: {
      head: async () => place(state.head),
      range: async (_: unknown, { afterIndex }: { readonly afterIndex: number }) => ({ low: place(afterIndex) }),
      exported: async function* () {
        yield [{ place: place(state.head), event: undefined }]
      },
    },
    seen: (_: bigint, withinMs: number) => clock.sleep(withinMs),
    historyStreams: streamSlots(1),
    historyReads: { continues: () => true, counted: () => undefined, followed: () => undefined },
    flagStore: { row: () => ({}) },
    pastReadings: { holderOf: async (id: string) => id },
  }
  const reachNow = reachAuthorizedNow({
    names: { tokenCookie: 'rollcall_token' },
    fresh: () => {
      state.checks++
      return state.valid
    },
    verifier: { cached: () => ({ reach: state.reach }) },
  } as unknown as Parameters<typeof reachAuthorizedNow>[0])
  const caller = { actor: { kind: 'authentication', method: 'token', id: 'a' }, reach }
  const headers = { 'last-event-id': '7', authorization: 'Bearer a' }
  const raw = { headers, rawHeaders: [], socket: new EventEmitter() }
  const parameters = namespaceKey === undefined ? [] : [{ name: 'namespaceKey', text: namespaceKey, bare: false }]
  const request = { method: 'GET', headers, parameters, caller, raw, spec: { wants } }
  const reply = { raw: new EventEmitter() }
  const call = { query: query.read(parameters), params: {}, request, reply, caller, route: '/audit/v1/events' }
  const { chunks } = await liveEvents({ ...service, reachNow } as unknown as Parameters<typeof liveEvents>[0])(
    call as unknown as EventsCall,
  )
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

await t.test('an event stream without an event sends a heartbeat after 15 s', async (t) => {
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

await t.test('an event stream ends when the grants of its caller no longer suffice', async (t) => {
  const [auditor, reader] = [reachIn('*', 'audit.read'), reachIn('shop', 'history.read')]
  const cases: readonly (readonly [
    name: string,
    before: Reach,
    after: Reach,
    namespaceKey: string | undefined,
    ends: boolean,
  ])[] = [
    ['without audit.read', auditor, reachIn('*', 'flag.read'), undefined, true],
    ['with history.read alone', auditor, reachIn('*', 'history.read'), undefined, true],
    ['with history.read alone, in the namespace of the query', auditor, reader, 'shop', true],
    ['with audit.read', FULL, auditor, undefined, false],
    ['without history.read in the namespace', reader, reachIn('shop', 'flag.read'), 'shop', true],
    ['with history.read in another namespace', reader, reachIn('other', 'history.read'), 'shop', true],
    ['with history.read in the namespace', reachIn('*', 'history.read'), reader, 'shop', false],
  ]
  for (const [name, before, after, namespaceKey, ends] of cases) {
    const { state, at } = await streaming(before, namespaceKey)
    await at(2_500)
    t.notOk(state.ended, `${name}: runs with the first grants`)
    state.reach = after
    await at(3_000)
    t.equal(state.ended, ends, name)
  }
})

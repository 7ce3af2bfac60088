import t from 'tap'
import type { EventLog, NewEvent, Stored } from '../../src/events/log.ts'
import { tappedLog } from '../../src/events/log.ts'
import { type Anchor, logGuard } from '../../src/projections/engine/log-guard.ts'
import { noted } from '../noted.ts'
import { virtualClock } from '../virtual-clock.ts'

const here: Anchor = { position: 10n, event: 'ten' }
/** Times at which a mismatching log is read. */
const DOUBTING = [0, 10, 30, 70, 150, 310, 560]

/** Guard of a log with scripted answers and delays. */
const guarded = (followed: Anchor = here) => {
  const clock = virtualClock()
  const state = { id: 'ten' as string | undefined, down: false, takes: 0, asked: [] as number[], renewed: 0 }
  const told: (string | undefined)[] = []
  const guard = logGuard({
    clock,
    log: {
      at: async () => {
        state.asked.push(clock.monotonic())
        if (state.takes > 0) await clock.sleep(state.takes)
        if (state.down) throw new Error('out of reach')
        return state.id === undefined ? undefined : ({ id: state.id } as Stored)
      },
    },
    followed: () => followed,
    renewed: () => state.renewed,
    onDiverged: (_, found) => told.push(found),
  })
  return { clock, state, told, guard }
}

await t.test('a log that contains the last known event is trusted', async (t) => {
  const { guard, state } = guarded()
  t.equal(await guard.agrees(), true)
  t.strictSame(state.asked, [0])
  t.equal(guard.suspicious(), false)
  await guard.close()
})

await t.test('before the first event the check of the log reads nothing', async (t) => {
  const { guard, state } = guarded({ position: 0n, event: '' })
  t.equal(await guard.agrees(), true)
  t.strictSame(state.asked, [])
  await guard.close()
})

await t.test('the log is checked every two seconds', async (t) => {
  const { guard, state, clock } = guarded()
  await clock.advance(1_999)
  t.strictSame(state.asked, [])
  await clock.advance(8_001)
  t.strictSame(state.asked, [2_000, 4_000, 6_000, 8_000, 10_000])
  await guard.close()
  t.strictSame(clock.waiting(), [])
})

for (const [what, id] of [
  ['another event', 'other'],
  ['no event', undefined],
] as const)
  await t.test(`${what} at the last known position: the log is suspicious, reported once, then lost`, async (t) => {
    const { guard, state, told, clock } = guarded()
    state.id = id
    const agrees = noted(guard.agrees())
    await clock.advance(309)
    t.equal(guard.suspicious(), false)
    await clock.advance(1)
    t.equal(guard.suspicious(), true, 'at the first look after a quarter of a second')
    await clock.advance(250)
    t.strictSame(state.asked, DOUBTING, 'it is asked again, each time later, and at least every quarter of a second')
    await clock.advance(2_499)
    t.strictSame([told, agrees], [[], []], 'a doubt is not believed at once')
    await clock.advance(1)
    t.strictSame([told, agrees], [[id], [false]], 'but at the first look after three seconds')
    const again = noted(guard.agrees())
    await clock.advance(3_060)
    t.strictSame([told, again], [[id], [false]])
    t.equal(guard.suspicious(), true)
    await guard.close()
  })

await t.test('a check of the log counts as suspicious after 250 ms and is decided after 3 s', async (t) => {
  for (const [takes, suspicious, believed] of [
    [249, 508, 3_301],
    [250, 250, 3_310],
    [2_999, 2_999, 6_008],
    [3_000, 3_000, 3_000],
  ] as const) {
    const { guard, state, told, clock } = guarded()
    state.id = 'other'
    state.takes = takes
    void guard.agrees()
    await clock.advance(suspicious - 1)
    t.equal(guard.suspicious(), false, `answers of ${takes} ms`)
    await clock.advance(1)
    t.equal(guard.suspicious(), true)
    if (believed > suspicious) {
      await clock.advance(believed - suspicious - 1)
      t.strictSame(told, [])
      await clock.advance(1)
    }
    t.strictSame(told, ['other'])
    const closing = guard.close()
    await clock.advance(takes)
    await closing
  }
})

await t.test('an event that appears late is no damage of the log, and ends the suspicion', async (t) => {
  const { guard, state, told, clock } = guarded()
  state.id = undefined
  const late = noted(guard.agrees())
  await clock.advance(150)
  state.id = 'ten'
  await clock.advance(160)
  t.strictSame([late, guard.suspicious()], [[true], false])
  state.id = 'other'
  const asked = noted(guard.agrees())
  await clock.advance(310)
  t.equal(guard.suspicious(), true)
  state.id = 'ten'
  await clock.advance(250)
  t.strictSame([asked, guard.suspicious()], [[true], false])
  t.strictSame(told, [])
  await guard.close()
})

await t.test('an unreachable log neither confirms nor ends the suspicion of damage', async (t) => {
  const { guard, state, told, clock } = guarded()
  state.id = 'other'
  const asked = noted(guard.agrees())
  await clock.advance(310)
  t.equal(guard.suspicious(), true)
  state.down = true
  await clock.advance(250)
  t.match(asked, [/out of reach/])
  await guard.doubt()
  t.equal(guard.suspicious(), true)
  await clock.advance(60_000)
  t.equal(guard.suspicious(), true)
  t.strictSame(told, [], 'however long it is away')
  await guard.close()
})

await t.test('the log is checked after each new connection and subscription', async (t) => {
  const { guard, state, clock } = guarded()
  await clock.advance(100)
  state.renewed++
  await clock.advance(149)
  t.strictSame(state.asked, [])
  await clock.advance(1)
  t.strictSame(state.asked, [250], 'within a quarter of a second')
  await clock.advance(1_750)
  t.strictSame(state.asked, [250], 'and the next look is two seconds after that')
  await clock.advance(250)
  t.strictSame(state.asked, [250, 2_250])
  await guard.close()
})

await t.test('a position that another process recorded is checked without a log line', async (t) => {
  const { guard, told, clock } = guarded()
  t.equal(await guard.has(here), true)
  const other = noted(guard.has({ position: 10n, event: 'other' }))
  await clock.advance(3_059)
  t.strictSame(other, [])
  await clock.advance(1)
  t.strictSame(other, [false])
  t.strictSame(told, [])
  t.equal(guard.suspicious(), false)
  await guard.close()
})

const UNAVAILABLE = { reason: 'backend_unavailable' } as object as Error
const event: NewEvent = { id: 'new', type: 'Happened', time: '', data: '{}', meta: '{}' }
/** Appends through the guard to a log that assigns this position; `appends` counts the calls that reached it. */
const appending = (guard: ReturnType<typeof guarded>['guard'], position = 11n, during = () => {}) => {
  const inner = { appends: 0 }
  const append: EventLog['append'] = async () => {
    inner.appends++
    during()
    return { revision: 0n, positions: [position] }
  }
  const log = tappedLog({ append } as unknown as EventLog, [guard.tap])
  return { inner, append: () => log.append('s', [event], 'none') }
}

await t.test('an append without a lost connection causes no check of the log', async (t) => {
  const { guard, state } = guarded()
  const { append } = appending(guard)
  t.same(await append(), { revision: 0n, positions: [11n] })
  t.strictSame(state.asked, [])
  await guard.close()
})

await t.test('after a lost connection the first append waits for a check of the log', async (t) => {
  const { guard, state } = guarded()
  const { append, inner } = appending(guard)
  state.renewed++
  await append()
  t.strictSame(state.asked, [0])
  t.equal(inner.appends, 1)
  await append()
  t.strictSame(state.asked, [0], 'the next ones ask nothing')
  t.equal(inner.appends, 2)
  await guard.close()
})

await t.test('after a lost connection no append is written to another log', async (t) => {
  const { guard, state, told, clock } = guarded()
  const { append, inner } = appending(guard)
  state.id = 'other'
  state.renewed++
  const first = noted(append())
  await clock.advance(309)
  t.strictSame(first, [])
  await clock.advance(1)
  t.match(first, [UNAVAILABLE], 'as soon as there is a doubt')
  await t.rejects(append(), UNAVAILABLE)
  t.equal(inner.appends, 0)
  t.strictSame(told, [])
  state.id = 'ten'
  await clock.advance(250)
  t.equal(guard.suspicious(), false)
  await append()
  t.equal(inner.appends, 1, 'a doubt that is over holds nothing up')
  await guard.close()
})

await t.test('after a lost connection an unreachable log accepts no append', async (t) => {
  const { guard, state } = guarded()
  const { append, inner } = appending(guard)
  state.renewed++
  state.down = true
  await t.rejects(append(), UNAVAILABLE)
  t.equal(inner.appends, 0)
  await guard.close()
})

await t.test('after a connection lost during an append the log is checked before the answer', async (t) => {
  const { guard, state, clock } = guarded()
  const { append, inner } = appending(guard, 11n, () => {
    state.id = undefined
    state.renewed++
  })
  const answered = noted(append())
  await clock.advance(309)
  t.strictSame(answered, [])
  await clock.advance(1)
  t.match(answered, [UNAVAILABLE])
  t.equal(inner.appends, 1)
  await guard.close()
})

await t.test('an append that gets a known position again proves that the log became shorter', async (t) => {
  const { guard, state, clock } = guarded()
  const { append } = appending(guard, 10n)
  t.same((await append()).positions, [10n], 'unless it is a repeated one')
  t.strictSame(state.asked, [0])
  state.id = undefined
  const second = noted(append())
  await clock.advance(310)
  t.match(second, [UNAVAILABLE])
  await guard.close()
})

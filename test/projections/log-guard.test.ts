import t from 'tap'
import { systemClock } from '../../src/clock.ts'
import type { EventLog, NewEvent, Stored } from '../../src/events/log.ts'
import { type Anchor, logGuard } from '../../src/projections/engine/log-guard.ts'

const here: Anchor = { position: 10n, event: 'ten' }
/** A guard over a log that says what it is told to. */
const guarded = (options: { readonly followed?: Anchor; readonly confirmMs?: number } = {}) => {
  const state = { id: 'ten' as string | undefined, down: false, asked: 0, renewed: 0 }
  const told: (string | undefined)[] = []
  const guard = logGuard({
    clock: systemClock,
    log: {
      at: async () => {
        state.asked++
        if (state.down) throw new Error('out of reach')
        return state.id === undefined ? undefined : ({ id: state.id } as Stored)
      },
    },
    followed: () => options.followed ?? here,
    renewed: () => state.renewed,
    onDiverged: (_, found) => told.push(found),
    everyMs: 600_000,
    doubtMs: 30,
    confirmMs: options.confirmMs ?? 120,
  })
  return { state, told, guard }
}
const sleep = (ms: number) => new Promise((wake) => setTimeout(wake, ms))
const eventually = async (holds: () => boolean) => {
  for (let n = 0; n < 400 && !holds(); n++) await sleep(5)
  return holds()
}

await t.test('a log that has what was followed is believed at once', async (t) => {
  const { guard, state } = guarded()
  t.equal(await guard.agrees(), true)
  t.equal(state.asked, 1)
  t.equal(guard.suspicious(), false)
  await guard.close()
})

await t.test('before the first event there is nothing to ask', async (t) => {
  const { guard, state } = guarded({ followed: { position: 0n, event: '' } })
  t.equal(await guard.agrees(), true)
  t.equal(state.asked, 0)
  await guard.close()
})

for (const [what, id] of [
  ['another event', 'other'],
  ['no event', undefined],
] as const)
  await t.test(`${what} there, for long: suspicious, then told once, and for good`, async (t) => {
    const doubting = guarded({ confirmMs: 60_000 })
    doubting.state.id = id
    void doubting.guard.agrees()
    t.ok(await eventually(doubting.guard.suspicious))
    t.strictSame(doubting.told, [], 'a doubt is not believed at once')
    await doubting.guard.close()

    const { guard, state, told } = guarded()
    state.id = id
    t.equal(await guard.agrees(), false)
    t.strictSame(told, [id])
    t.equal(await guard.agrees(), false)
    t.equal(told.length, 1)
    t.equal(guard.suspicious(), true)
    await guard.close()
  })

await t.test('what a leader shows late is no doubt, and a doubt that is over is none', async (t) => {
  const { guard, state, told } = guarded({ confirmMs: 60_000 })
  state.id = undefined
  const late = guard.agrees()
  state.id = 'ten'
  t.equal(await late, true)
  state.id = 'other'
  const asked = guard.agrees()
  t.ok(await eventually(guard.suspicious))
  state.id = 'ten'
  t.equal(await asked, true)
  t.equal(guard.suspicious(), false)
  t.strictSame(told, [])
  await guard.close()
})

await t.test('a log out of reach says nothing, and ends no doubt', async (t) => {
  const { guard, state, told } = guarded({ confirmMs: 60_000 })
  state.id = 'other'
  const asked = guard.agrees()
  t.ok(await eventually(guard.suspicious))
  state.down = true
  await t.rejects(asked, /out of reach/)
  await guard.doubt()
  t.equal(guard.suspicious(), true)
  t.strictSame(told, [])
  await guard.close()
})

await t.test('each connection and subscription that is made anew is a reason to look', async (t) => {
  const { guard, state } = guarded()
  state.renewed++
  t.ok(await eventually(() => state.asked > 0))
  await guard.close()
})

await t.test('a place that another wrote down is looked for without a word', async (t) => {
  const { guard, told } = guarded()
  t.equal(await guard.has(here), true)
  t.equal(await guard.has({ position: 10n, event: 'other' }), false)
  t.strictSame(told, [])
  t.equal(guard.suspicious(), false)
  await guard.close()
})

const UNAVAILABLE = { reason: 'backend_unavailable' } as object as Error
const event: NewEvent = { id: 'new', type: 'Happened', time: '', data: '{}', meta: '{}' }
/** Appends through the guard to a log that gives this position; `appends` counts those that reached it. */
const appending = (guard: ReturnType<typeof guarded>['guard'], position = 11n, during = () => {}) => {
  const inner = { appends: 0 }
  const append: EventLog['append'] = async () => {
    inner.appends++
    during()
    return { revision: 0n, positions: [position] }
  }
  const log = guard.through({ append } as unknown as EventLog)
  return { inner, append: () => log.append('s', [event], 'none') }
}

await t.test('while nothing breaks off an append asks nothing', async (t) => {
  const { guard, state } = guarded()
  const { append } = appending(guard)
  t.same(await append(), { revision: 0n, positions: [11n] })
  t.equal(state.asked, 0)
  await guard.close()
})

await t.test('after a break the first append is let through once the log was seen to be the same', async (t) => {
  const { guard, state } = guarded()
  const { append, inner } = appending(guard)
  state.renewed++
  await append()
  t.ok(state.asked > 0)
  t.equal(inner.appends, 1)
  await guard.close()
})

await t.test('after a break nothing reaches another log, and nobody waits until that is believed', async (t) => {
  const { guard, state, told } = guarded({ confirmMs: 60_000 })
  const { append, inner } = appending(guard)
  state.id = 'other'
  state.renewed++
  await t.rejects(append(), UNAVAILABLE)
  await t.rejects(append(), UNAVAILABLE)
  t.equal(inner.appends, 0)
  t.strictSame(told, [])
  state.id = 'ten'
  t.ok(await eventually(() => !guard.suspicious()))
  await append()
  t.equal(inner.appends, 1, 'a doubt that is over holds nothing up')
  await guard.close()
})

await t.test('a log out of reach after a break takes nothing', async (t) => {
  const { guard, state } = guarded()
  const { append, inner } = appending(guard)
  state.renewed++
  state.down = true
  await t.rejects(append(), UNAVAILABLE)
  t.equal(inner.appends, 0)
  await guard.close()
})

await t.test('what breaks off while an append is under way is looked at before it is answered for', async (t) => {
  const { guard, state } = guarded({ confirmMs: 60_000 })
  const { append, inner } = appending(guard, 11n, () => {
    state.id = undefined
    state.renewed++
  })
  await t.rejects(append(), UNAVAILABLE)
  t.equal(inner.appends, 1)
  await guard.close()
})

await t.test('an append that is given a place before what was followed proves that the log is shorter', async (t) => {
  const { guard, state } = guarded({ confirmMs: 60_000 })
  const { append } = appending(guard, 10n)
  t.same((await append()).positions, [10n], 'unless it is a repeated one')
  t.equal(state.asked, 1)
  state.id = undefined
  await t.rejects(append(), UNAVAILABLE)
  await guard.close()
})

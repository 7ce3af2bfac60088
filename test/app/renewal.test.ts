import t from 'tap'
import { takenAway } from '../../src/adapters/embedded/files/watched-files.ts'
import { damageWatch, viewRenewal } from '../../src/app/stores/damage.ts'
import { faults } from '../../src/app/telemetry/fatal.ts'
import type { Views } from '../../src/projections/views.ts'
import { virtualClock } from '../virtual-clock.ts'

const MINUTE = 60_000
const damage = Object.assign(new Error('views.sqlite: a row makes no sense'), { code: 'DAMAGED' })

/** Repair of read models whose builds end with `outcomes` in order, then succeed; `told` collects what happened. */
const renewing = (outcomes: (Error | 'hangs')[] = [], clock = virtualClock()) => {
  const told: string[] = []
  const say = (what: string) => () => void told.push(what)
  const renewed = viewRenewal({
    clock,
    log: { head: async () => 5n } as never,
    views: { checkpoint: async () => ({ position: told.includes('behind') ? 4n : 5n }) } as never,
    models: [{ name: 'm' }] as never,
    renewal: { isWhole: () => true, begin: async () => ({}) as Views, built: say('built'), done: say('done') },
    build: async (_, signal) => {
      told.push('begun')
      const outcome = outcomes.shift()
      if (outcome === 'hangs') await new Promise((stopped) => signal.addEventListener('abort', stopped))
      else if (outcome) throw outcome
    },
    logger: { info: say('info'), error: say('error') } as never,
    fatal: (_, message) => void told.push(message),
  })
  return { clock, told, ...renewed }
}
const WHOLE = ['begun', 'built', 'done', 'info']

await t.test('damaged read models are rebuilt, and a line is logged when they are complete', async (t) => {
  const { clock, told, met } = renewing()
  met(damage)
  await clock.settle()
  t.strictSame(told, WHOLE)
  t.strictSame(clock.waiting(), [])
})

await t.test('a third damage of the read models within ten minutes ends the service', async (t) => {
  for (const [apart, ends] of [
    [5 * MINUTE - 1, true],
    [5 * MINUTE, false],
  ] as const) {
    const { clock, told, met } = renewing()
    for (let n = 0; n < 3; n++) {
      met(damage)
      await clock.advance(apart)
    }
    t.strictSame(told.slice(0, 8), [...WHOLE, ...WHOLE])
    if (ends) t.match(told.slice(8), [/^rollcall ends: the read models were found damaged 3 times within 10 minutes/])
    else t.strictSame(told.slice(8), WHOLE)
  }
})

await t.test('a failed rebuild is logged and repeated, and each delay is twice the previous one', async (t) => {
  const { clock, told, met } = renewing([new Error('one'), new Error('two')])
  met(damage)
  await clock.advance(999)
  t.strictSame(told, ['begun', 'error'])
  await clock.advance(1)
  t.strictSame(told, ['begun', 'error', 'begun', 'error'])
  await clock.advance(1_999)
  t.equal(told.length, 4)
  await clock.advance(1)
  t.strictSame(told.slice(4), WHOLE)
})

await t.test('a rebuild that keeps failing is repeated at most once a minute', async (t) => {
  const { clock, told, met } = renewing(Array.from({ length: 9 }, () => new Error('no')))
  met(damage)
  await clock.settle()
  for (const [tried, seconds] of [1, 2, 4, 8, 16, 32, 60, 60].entries()) {
    await clock.advance(seconds * 1_000 - 1)
    t.equal(told.length, 2 * (tried + 1))
    await clock.advance(1)
    t.equal(told.length, 2 * (tried + 2), `${seconds} seconds later`)
  }
})

await t.test('every 50 ms the service checks whether rebuilt read models have the newest events', async (t) => {
  const { clock, told, met } = renewing()
  told.push('behind')
  met(damage)
  await clock.advance(149)
  t.strictSame([told, clock.waiting()], [['behind', 'begun', 'built'], [1]])
  told.shift()
  await clock.advance(1)
  t.strictSame([told, clock.waiting()], [WHOLE, []])
})

await t.test('a full disk and a second damage during a rebuild are not reported again', async (t) => {
  const full = new Error('refused', { cause: Object.assign(new Error('disk full'), { code: 'ENOSPC' }) })
  const { clock, told, met } = renewing([full])
  met(damage)
  met(damage)
  await clock.advance(1_000)
  t.strictSame(told, ['begun', ...WHOLE])
})

await t.test('closing the service stops a running rebuild and starts no other', async (t) => {
  const { told, met, close, clock } = renewing(['hangs'])
  met(damage)
  await clock.settle()
  await close()
  met(damage)
  await clock.advance(MINUTE)
  t.strictSame(told, ['begun'])
})

await t.test('a fatal fault ends the process within its grace period', async (t) => {
  for (const [patience, given] of [
    [20_000, []],
    [1_000, [1_000]],
  ] as const) {
    const clock = virtualClock()
    let exits = 0
    const log = { error: () => undefined } as never
    const { fatal, endWith, release } = faults(log, clock, () => void exits++)
    endWith(() => new Promise(() => undefined))
    fatal(damage, 'the history is damaged', ...given)
    await clock.advance(patience - 1)
    t.equal(exits, 0)
    await clock.advance(1)
    t.equal(exits, 1)
    release()
  }
})

await t.test('a damaged event log ends the service within one second; damaged read models do not', async (t) => {
  const told: unknown[] = []
  const watch = damageWatch(
    (_, message, patience) => told.push([message.slice(0, 40), patience]),
    ({ message }) => told.push(message),
  )
  await watch.during(Promise.resolve())
  watch.onDamagedViews(damage)
  t.strictSame(told, [damage.message])
  watch.onDamage(new Error('events.sqlite: torn'))
  watch.onLost(new Error('subjects.sqlite: torn'))
  watch.onLost(takenAway('events.sqlite'))
  t.strictSame(told.slice(1), [
    ['rollcall ends: the event log is damaged;', 1_000],
    ['rollcall ends: this process can no longe', 1_000],
    ['rollcall ends: a file of the data direct', 1_000],
  ])
})

await t.test('damage that is found during a start makes the start fail with advice', async (t) => {
  const running = () => t.fail('it does not run yet')
  const [ofViews, ofLog] = [damageWatch(running, running), damageWatch(running, running)]
  const starts = [ofViews, ofLog].map((watch) => watch.during(new Promise(() => undefined)))
  ofViews.onDamagedViews(damage)
  ofLog.onDamage(damage)
  await t.rejects(starts[0]!, { message: damage.message })
  await t.rejects(starts[1]!, { kind: 'failed', message: /row makes no sense\nRestore the file/ })
  t.strictSame([ofViews.ofViews(), ofLog.ofViews()], [true, false])
})

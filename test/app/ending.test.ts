import { getEventListeners } from 'node:events'
import t from 'tap'
import { endInTime, unlessEnding } from '../../src/app/start.ts'
import { virtualClock } from '../virtual-clock.ts'

/** Counts the listeners of a signal and the signals derived from it. */
const hangingOn = (signal: AbortSignal): number => {
  const dependants = Object.getOwnPropertySymbols(signal).find(({ description }) => description === 'kDependantSignals')
  const made = dependants && (Reflect.get(signal, dependants) as Set<unknown> | undefined)
  return getEventListeners(signal, 'abort').length + (made?.size ?? 0)
}

await t.test('failed starts leave no listeners on the abort signal', async (t) => {
  const clock = virtualClock()
  const { signal } = new AbortController()
  for (let n = 0; n < 20; n++) {
    t.equal(await unlessEnding(clock, Promise.resolve(n), signal), n)
    await t.rejects(unlessEnding(clock, Promise.reject(new Error('away')), signal), { message: 'away' })
  }
  const under = unlessEnding(clock, clock.sleep(50), signal)
  t.equal(hangingOn(signal), 1, 'the one that is under way')
  await clock.advance(50)
  await under
  t.equal(hangingOn(signal), 0)
})

await t.test('pending work is abandoned 4 s after the end of the process is requested', async (t) => {
  for (const asked of ['during', 'before']) {
    const clock = virtualClock()
    const ending = new AbortController()
    if (asked === 'before') ending.abort(new Error('the end'))
    let left: unknown
    void unlessEnding(clock, new Promise(() => undefined), ending.signal).catch((error: unknown) => (left = error))
    if (asked === 'during') ending.abort(new Error('the end'))
    await clock.advance(3_999)
    t.equal(left, undefined)
    await clock.advance(1)
    t.match(left, { message: 'the end' }, asked)
    t.equal(hangingOn(ending.signal), 0)
  }
})

await t.test('a process that does not stop within its grace period is ended, and that is logged', async (t) => {
  const clock = virtualClock()
  const ending = new AbortController()
  const told: string[] = []
  endInTime(clock, ending.signal, 30_000, { warn: (_: object, message: string) => told.push(message) } as never, () =>
    told.push('cut'),
  )
  await clock.advance(60_000)
  t.strictSame(told, [], 'no stop was requested')
  ending.abort()
  await clock.advance(29_999)
  t.strictSame(told, [])
  await clock.advance(1)
  t.match(told, [/takes longer than server.shutdown_grace/, 'cut'])
})

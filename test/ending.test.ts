import { getEventListeners } from 'node:events'
import t from 'tap'
import { unlessEnding } from '../src/app/ending.ts'

/** What would be told of an abort, or holds on to the signal: its listeners, and the signals that were made from it. */
const hangingOn = (signal: AbortSignal): number => {
  const dependants = Object.getOwnPropertySymbols(signal).find(({ description }) => description === 'kDependantSignals')
  const made = dependants && (Reflect.get(signal, dependants) as Set<unknown> | undefined)
  return getEventListeners(signal, 'abort').length + (made?.size ?? 0)
}

await t.test('attempts of a start, however many, leave nothing on the signal of its end', async (t) => {
  const { signal } = new AbortController()
  for (let n = 0; n < 20; n++) {
    t.equal(await unlessEnding(Promise.resolve(n), signal), n)
    await t.rejects(unlessEnding(Promise.reject(new Error('away')), signal), { message: 'away' })
  }
  const under = unlessEnding(new Promise<void>((done) => setTimeout(done, 50)), signal)
  t.equal(hangingOn(signal), 1, 'the one that is under way')
  await under
  t.equal(hangingOn(signal), 0)
})

await t.test('what does not stop by itself is left soon after the end is asked for', async (t) => {
  const ending = new AbortController()
  const left = t.rejects(unlessEnding(new Promise(() => undefined), ending.signal), { message: 'the end' })
  ending.abort(new Error('the end'))
  await left
  await t.rejects(unlessEnding(new Promise(() => undefined), ending.signal), { message: 'the end' }, 'asked for before')
  t.equal(hangingOn(ending.signal), 0)
})

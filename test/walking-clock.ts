import type { Test } from 'tap'
import { type VirtualClock, virtualClock } from './virtual-clock.ts'
import { eventually } from './wait.ts'

/** Step in ms, much shorter than any wait on these clocks and similar to the polling interval in real time. */
const STEP_MS = 10

const walk = (clocks: readonly VirtualClock[], over: () => boolean) =>
  eventually(async () => {
    await Promise.all(clocks.map((clock) => clock.advance(STEP_MS)))
    return over()
  }, 'the end of what needs time')

/** Advances the clocks in small steps while the work runs, more slowly on a busy machine. */
export const walking = async <T>(clocks: readonly VirtualClock[], work: () => Promise<T>): Promise<T> => {
  const state = { over: false }
  const walked = walk(clocks, () => state.over)
  try {
    return await work()
  } finally {
    state.over = true
    await walked
  }
}

/** Creates a clock that advances until the test ends; the test can advance it further. */
export const walkingClock = (t: Pick<Test, 'teardown'>, begin?: string): VirtualClock => {
  const clock = virtualClock(begin)
  const state = { over: false }
  const walked = walk([clock], () => state.over)
  t.teardown(async () => {
    state.over = true
    await walked
  })
  return clock
}

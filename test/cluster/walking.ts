import type { Test } from 'tap'
import { type VirtualClock, virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'

/** Much shorter than anything that waits for these clocks, and about the time between two looks: servers have as much real time. */
const STEP_MS = 10

const walk = (clocks: readonly VirtualClock[], over: () => boolean) =>
  eventually(async () => {
    await Promise.all(clocks.map((clock) => clock.advance(STEP_MS)))
    return over()
  }, 'the end of what needs time')

/** Does work that needs time: meanwhile these clocks go on in small steps, on a busy machine more slowly. */
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

/** A clock that goes on so until the test ends; the test may move it beyond. */
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

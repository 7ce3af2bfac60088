import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'

const LOOK_MS = 5

/** What is left of a type where the value is truthy. */
export type Truthy<T> = Exclude<T, false | null | undefined>

/** What is waited for just now, told where the process ends before it came. */
const pending = new Set<string>()
process.on('exit', () => {
  for (const what of pending) process.stderr.write(`still waiting for: ${what}\n`)
})

/**
 * Asks until the answer is truthy, and gives it. The time limit of the test file is the only limit: a slow machine takes
 * longer and fails nothing. What is waited for is named if the file ends before.
 */
export const eventually = async <T>(ask: () => T | Promise<T>, what: string): Promise<Truthy<T>> => {
  pending.add(what)
  for (;;) {
    const answer = await ask()
    if (answer) {
      pending.delete(what)
      return answer as Truthy<T>
    }
    await sleep(LOOK_MS)
  }
}

/**
 * Says that nothing more happened. `marker` sends something through the queue that what must not come would have come
 * through, and resolves once it is out at the other end; until then `read` must not change.
 */
export const quiet = async (
  t: Test,
  read: () => unknown,
  marker: () => Promise<unknown>,
  what: string,
): Promise<void> => {
  const before = structuredClone(read())
  await marker()
  t.strictSame(read(), before, what)
}

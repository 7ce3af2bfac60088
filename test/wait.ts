import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'

const LOOK_MS = 5

/** Type of a truthy value. */
export type Truthy<T> = Exclude<T, false | null | undefined>

/** Pending waits, printed if the process ends before them. */
const pending = new Set<string>()
process.on('exit', () => {
  for (const what of pending) process.stderr.write(`still waiting for: ${what}\n`)
})

/**
 * Polls until the answer is truthy, and returns it. Only the time limit of the test file applies, so a slow machine
 * fails nothing. The pending wait is printed if the file ends first.
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
 * Expects that nothing more happens. `marker` sends something through the same queue and resolves when it has arrived;
 * until then `read` must not change.
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

import { randomBytes, randomUUID } from 'node:crypto'
import { openMongo } from '../../../src/adapters/mongodb/open.ts'
import type { Clock } from '../../../src/clock.ts'
import { virtualClock } from '../../virtual-clock.ts'
import { eventually } from '../../wait.ts'
import { STAND_IN_BULK } from '../servers.ts'

/**
 * The same clock, and how to wait until no answer of a server is waited for. A call sets its time limit when it begins,
 * and cancels it when it ends.
 */
export const restingOn = <C extends Clock>(clock: C) => {
  let calls = 0
  const watched: C = {
    ...clock,
    after: (ms: number, work: () => void) => {
      calls++
      const timer = clock.after(ms, work)
      return {
        ...timer,
        cancel: () => {
          calls--
          timer.cancel()
        },
      }
    },
  }
  return { clock: watched, rest: () => eventually(() => calls === 0, 'the answers of the server') }
}

/** A database of its own on a server, on a clock: on one that stands still no call of a slow server is late. Errors behind the scenes are failures of the test that meets them. */
export const database = (url: string, clock: Clock = virtualClock()) => {
  const name = `rollcall_test_${randomUUID().replaceAll('-', '')}`
  const errors: unknown[] = []
  const open = () => openMongo(url, name, { clock, bulk: STAND_IN_BULK, onError: (error) => errors.push(error) })
  const kek = randomBytes(32)
  return {
    name,
    errors,
    open,
    views: { open: async () => (await open()).views },
    keys: { open: async () => (await open()).keys(kek) },
  }
}

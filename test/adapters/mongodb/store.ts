import { randomBytes, randomUUID } from 'node:crypto'
import { openMongo } from '../../../src/adapters/mongodb/open.ts'
import type { Clock } from '../../../src/base/clock.ts'
import { virtualClock } from '../../virtual-clock.ts'
import { eventually } from '../../wait.ts'
import { STAND_IN_BULK } from '../servers.ts'

/**
 * Wraps a clock and returns a function that waits until no call is pending. A call sets its timeout at its start and
 * cancels it at its end.
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

/** Options of an address whose driver waits for a slow server for as long as its test may take. */
const PATIENT = ['serverSelectionTimeoutMS', 'connectTimeoutMS', 'socketTimeoutMS', 'waitQueueTimeoutMS']
  .map((name) => `${name}=600000`)
  .join('&')
const patientAt = (url: string): string =>
  `${url}${url.includes('?') ? '&' : /\/\/.*\//.test(url) ? '?' : '/?'}${PATIENT}`

/**
 * A database of its own on a server. With a stopped clock, calls of a slow server do not time out, unless the driver is
 * `limited` as in a service. Background errors fail the test.
 */
export const database = (url: string, clock: Clock = virtualClock(), limited = false) => {
  const name = `rollcall_test_${randomUUID().replaceAll('-', '')}`
  const errors: unknown[] = []
  const open = () =>
    openMongo(limited ? url : patientAt(url), name, {
      clock,
      bulk: STAND_IN_BULK,
      onError: (error) => errors.push(error),
    })
  const kek = randomBytes(32)
  return {
    name,
    errors,
    open,
    views: { open: async () => (await open()).views },
    keys: { open: async () => (await open()).keys(kek) },
  }
}

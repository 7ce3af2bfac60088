import { Refusal } from '../errors.ts'

type Limits = {
  /** How many run at once. */
  readonly running: number
  /** How many may wait. */
  readonly waiting: number
  /** How many of those may be of one caller. */
  readonly each: number
}

/** Lets work through in order of arrival, so many at a time. Too many of one caller: `rate_limited`; too many of all, or waited until `signal`: `orchestrator_unavailable`. */
export const bulkhead = ({ running, waiting, each }: Limits) => {
  const queue: { readonly caller: string; readonly start: () => void }[] = []
  let busy = 0

  const turn = (caller: string, signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      const refused = (reason: 'rate_limited' | 'orchestrator_unavailable') =>
        reject(new Refusal(reason, undefined, { headers: { 'retry-after': '1' } }))
      if (queue.filter((waiter) => waiter.caller === caller).length >= each) return refused('rate_limited')
      if (queue.length >= waiting) return refused('orchestrator_unavailable')
      const leave = () => {
        queue.splice(queue.indexOf(waiter), 1)
        refused('orchestrator_unavailable')
      }
      const waiter = {
        caller,
        start: () => {
          signal.removeEventListener('abort', leave)
          resolve()
        },
      }
      signal.addEventListener('abort', leave, { once: true })
      queue.push(waiter)
    })

  return async <T>(caller: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
    if (busy < running) busy++
    else await turn(caller, signal)
    try {
      return await work()
    } finally {
      const next = queue.shift()
      if (next) next.start()
      else busy--
    }
  }
}

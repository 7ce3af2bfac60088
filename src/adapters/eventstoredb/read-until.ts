import type { ResolvedEvent, StreamingRead } from '@eventstore/db-client'
import type { Clock } from '../../base/clock.ts'
import { expired } from './failures.ts'

export type Read = StreamingRead<ResolvedEvent>
export type Take = (item: ResolvedEvent) => boolean

/**
 * Passes the items of a read to `take` until the read ends or `take` returns true. Rejects if nothing arrives for
 * `limit` ms, or if the read ends early.
 */
export const readUntil = (
  { monotonic, after }: Pick<Clock, 'monotonic' | 'after'>,
  read: Read,
  take: Take,
  isWhole: () => boolean,
  limit: number,
): Promise<void> =>
  new Promise<void>((resolve, reject) => {
    let done = false
    const finish = (settle: () => void) => {
      if (done) return
      done = true
      timer.cancel()
      settle()
      // An abandoned read occupies its HTTP/2 stream until it is cancelled.
      read.cancel().catch(() => undefined)
    }
    const late = () => finish(() => reject(expired(limit)))
    let received = 0
    let last = monotonic()
    /** Checks the timeout. First processes the items that arrived while the process was busy. */
    const checkSilence = () => {
      const left = last + limit - monotonic()
      if (left > 0) {
        timer = after(left, checkSilence)
        return
      }
      const before = received
      setImmediate(() => {
        if (received === before) late()
        else if (!done) checkSilence()
      })
    }
    let timer = after(limit, checkSilence)
    read.on('data', (item: ResolvedEvent) => {
      if (done) return
      received++
      last = monotonic()
      try {
        if (take(item)) finish(resolve)
      } catch (error) {
        finish(() => reject(error))
      }
    })
    read.on('error', (error) => finish(() => reject(error)))
    read.on('end', () => (isWhole() ? finish(resolve) : late()))
  })

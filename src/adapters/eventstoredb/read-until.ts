import type { ResolvedEvent, StreamingRead } from '@eventstore/db-client'
import type { Clock } from '../../clock.ts'
import { expired } from './failures.ts'

export type Read = StreamingRead<ResolvedEvent>
export type Take = (item: ResolvedEvent) => boolean

/**
 * Takes events of a read until it ends, or until `take` returns true. Rejects when nothing comes for `limit`
 * milliseconds, or when it ends early.
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
      // A read that is left keeps its HTTP/2 stream until it is cancelled.
      read.cancel().catch(() => undefined)
    }
    const late = () => finish(() => reject(expired(limit)))
    let heard = 0
    let last = monotonic()
    /** What came while this process was busy is read first. */
    const unheard = () => {
      const left = last + limit - monotonic()
      if (left > 0) {
        timer = after(left, unheard)
        return
      }
      const before = heard
      setImmediate(() => {
        if (heard === before) late()
        else if (!done) unheard()
      })
    }
    let timer = after(limit, unheard)
    read.on('data', (item: ResolvedEvent) => {
      if (done) return
      heard++
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

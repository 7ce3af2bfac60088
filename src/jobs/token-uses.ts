import type { Clock } from '../clock.ts'
import { isRefusal } from '../errors.ts'
import type { Views } from '../projections/views.ts'

const TABLE = 'token-uses'
const HOUR_MS = 3_600_000
const FLUSH_MS = 5_000
/** Uses written in one flush, so many at once. */
const WRITTEN = 100
const AT_ONCE = 8
/** Uses that wait to be written. */
const WAITING = 100_000
/** What is known of a token's use is kept as long as its record is: for ever. */
const FOR_EVER = 8.64e15

type Used = { readonly at: string }

export type TokenUsesOptions = {
  readonly views: Pick<Views, 'records' | 'swapRecord'>
  readonly clock: Pick<Clock, 'every'>
  /** The present, by which a use is in its hour. */
  readonly now: () => Date
  readonly onError: (error: unknown) => void
}

/**
 * In which hour each token was last used. Nothing of it is in the log: it is a record beside the read models, written once an hour and token
 * at most, some at a time, and never in the way of a request.
 */
export const tokenUses = ({ views, clock, now, onError }: TokenUsesOptions) => {
  const waiting = new Map<string, string>()
  let flushing: Promise<void> = Promise.resolve()

  const hourOf = (time: number): number => Math.floor(time / HOUR_MS)

  /** Writes a use unless a later one is known; what another instance was quicker with is looked at again. */
  const write = async (id: string, at: string): Promise<void> => {
    const there = (await views.records<Used>(TABLE, [id])).get(id)
    const isNews = there === undefined || there.value.at < at
    const isWritten = !isNews || (await views.swapRecord(TABLE, id, there?.revision ?? 0, { at }, FOR_EVER))
    if (isWritten && waiting.get(id) === at) waiting.delete(id)
  }

  const flush = async (): Promise<void> => {
    const due = [...waiting].slice(0, WRITTEN)
    try {
      for (let n = 0; n < due.length; n += AT_ONCE)
        await Promise.all(due.slice(n, n + AT_ONCE).map(async ([id, at]) => write(id, at)))
    } catch (error) {
      onError(error)
    }
  }

  const inTurn = () => (flushing = flushing.then(flush))
  const timer = clock.every(FLUSH_MS, () => {
    if (waiting.size > 0) void inTurn()
  })

  return {
    /** The present hour, by which a caller knows whether a use in it was noted. */
    hour: (): number => hourOf(now().getTime()),
    /** Takes note that a token is used in an hour; false where no more can wait. Synchronous, bounded, never throws. */
    note: (id: string, hour: number): boolean => {
      if (waiting.size >= WAITING && !waiting.has(id)) return false
      waiting.set(id, new Date(hour * HOUR_MS).toISOString())
      return true
    },
    /**
     * In which hour tokens were last used, as far as it is known: what cannot be asked is left out. Of a moment that is known where the hour
     * was over by then.
     */
    lastOf: async (ids: readonly string[], moment?: Date): Promise<ReadonlyMap<string, string>> => {
      const last = new Map<string, string>()
      const end = moment && new Date(moment.getTime() - HOUR_MS).toISOString()
      const add = (id: string, at: string | undefined) => {
        if (at !== undefined && at > (last.get(id) ?? '')) last.set(id, at)
      }
      try {
        for (const [id, { value }] of await views.records<Used>(TABLE, ids)) add(id, value.at)
      } catch (error) {
        if (!isRefusal(error, 'backend_unavailable')) throw error
      }
      for (const id of ids) add(id, waiting.get(id))
      if (end !== undefined) for (const [id, at] of last) if (at > end) last.delete(id)
      return last
    },
    /** Writes some of what was noted. */
    flush: (): Promise<void> => inTurn(),
    close: async (): Promise<void> => {
      timer.cancel()
      await inTurn()
    },
  }
}

export type TokenUses = ReturnType<typeof tokenUses>

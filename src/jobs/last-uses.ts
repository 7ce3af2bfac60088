import type { Clock } from '../base/clock.ts'
import { partsOf } from '../base/concurrency.ts'
import { isRefusal } from '../base/errors.ts'
import { sliced } from '../base/event-loop.ts'
import type { Views } from '../projections/views.ts'

const HOUR_MS = 3_600_000
const FLUSH_MS = 5_000
/** Maximum number of uses written per flush, and number of concurrent writes. */
const WRITTEN = 100
const AT_ONCE = 8
/** Maximum number of uses in the queue. */
const WAITING = 100_000
/** Number of records read at once. */
const READ = 500
/** Expiry of the record of a use: never. */
const FOR_EVER = 8.64e15

type Used = { readonly at: string }

type LastUsesOptions = {
  /** Name of the table of the records. */
  readonly table: 'token-uses' | 'flag-uses'
  readonly views: Pick<Views, 'records' | 'swapRecord'>
  readonly clock: Pick<Clock, 'every'>
  readonly onError: (error: unknown) => void
}

/**
 * Reads hours of the last use by id: the stored ones, and those that wait to be written. After an error of the store
 * the reading goes on without its records if `orElse` returns. With a past moment, only hours that had ended by then.
 */
const reader =
  (table: string, views: Pick<Views, 'records'>, waiting: ReadonlyMap<string, string>) =>
  async (
    ids: readonly string[],
    moment: Date | undefined,
    orElse: (error: unknown) => void,
  ): Promise<ReadonlyMap<string, string>> => {
    const last = new Map<string, string>()
    const end = moment && new Date(moment.getTime() - HOUR_MS).toISOString()
    const add = (id: string, at: string | undefined) => {
      if (at !== undefined && at > (last.get(id) ?? '')) last.set(id, at)
    }
    const stored = async function* () {
      for (const part of partsOf(ids, READ)) yield views.records<Used>(table, part)
    }
    try {
      for await (const part of sliced(stored())) for (const [id, { value }] of part) add(id, value.at)
    } catch (error) {
      orElse(error)
    }
    for (const id of ids) add(id, waiting.get(id))
    if (end !== undefined) for (const [id, at] of last) if (at > end) last.delete(id)
    return last
  }

/**
 * Hour of the last use of each thing of a kind, by the id of the thing (docs/decisions/0030). The hour is not stored in
 * the log but in a record next to the read models, at most once per hour and thing. Recording a use never delays its
 * request.
 */
export const lastUses = ({ table, views, clock, onError }: LastUsesOptions) => {
  const waiting = new Map<string, string>()
  let flushing: Promise<void> = Promise.resolve()

  /**
   * Writes a use unless a later one is stored. If the write conflicts with another instance, the next flush tries
   * again.
   */
  const write = async (id: string, at: string): Promise<void> => {
    const stored = (await views.records<Used>(table, [id])).get(id)
    const isNews = stored === undefined || stored.value.at < at
    const isWritten = !isNews || (await views.swapRecord(table, id, stored?.revision ?? 0, { at }, FOR_EVER))
    if (isWritten && waiting.get(id) === at) waiting.delete(id)
  }

  const flush = async (): Promise<void> => {
    const due = [...waiting].slice(0, WRITTEN)
    try {
      for (const part of partsOf(due, AT_ONCE)) await Promise.all(part.map(async ([id, at]) => write(id, at)))
    } catch (error) {
      onError(error)
    }
  }

  const inTurn = () => (flushing = flushing.then(flush))
  const timer = clock.every(FLUSH_MS, () => {
    if (waiting.size > 0) void inTurn()
  })

  const read = reader(table, views, waiting)
  return {
    /**
     * Records the use of a thing at a time in epoch ms. Returns the end of that hour, until which the record suffices,
     * or 0 if the queue is full. The function is synchronous, needs bounded time and never throws.
     */
    note: (id: string, time: number): number => {
      if (waiting.size >= WAITING && !waiting.has(id)) return 0
      const hour = Math.floor(time / HOUR_MS) * HOUR_MS
      waiting.set(id, new Date(hour).toISOString())
      return hour + HOUR_MS
    },
    /**
     * Hours of the last use of things, by id. Records of uses that cannot be read are left out. If a past moment is
     * given, only hours that had ended by then are returned.
     */
    lastOf: (ids: readonly string[], moment?: Date): Promise<ReadonlyMap<string, string>> =>
      read(ids, moment, (error) => {
        if (!isRefusal(error, 'backend_unavailable')) throw error
      }),
    /** Like `lastOf`, but refuses with `backend_unavailable` if the records cannot be read. */
    lastOfOrRefuse: (ids: readonly string[], moment?: Date): Promise<ReadonlyMap<string, string>> =>
      read(ids, moment, (error) => {
        throw error
      }),
    flush: (): Promise<void> => inTurn(),
    close: async (): Promise<void> => {
      timer.cancel()
      await inTurn()
    },
  }
}

export type LastUses = ReturnType<typeof lastUses>

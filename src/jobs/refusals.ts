import { randomUUID } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import type { Execute } from '../commands/execute.ts'
import { type RefusalCommands, refusal } from '../commands/refusal.ts'
import { NETWORKS, type Refused, refusalSampler, subjectOf, tally } from './refusal-sampling.ts'

type Batch = RefusalCommands['RecordRefusals'] & { readonly id: string }

const FLUSH_MS = 5_000
const SUMMARY_MS = 60_000
const ROUTES = 256

/** Counts of the refusals since a time. */
const span = (since: Date) => ({
  since,
  total: 0,
  byReason: tally(ROUTES),
  byRoute: tally(ROUTES),
  byNetwork: tally(NETWORKS),
})

/** Logins begun since a time. */
const begunSpan = (since: Date) => ({ since, total: 0, byWay: tally(ROUTES) })

const summaryOf = ({ since, total, byReason, byRoute, byNetwork }: ReturnType<typeof span>, time: Date) => {
  const top = [...byNetwork.counts].sort(([, a], [, b]) => b - a).slice(0, 10)
  return {
    from: since.toISOString(),
    to: time.toISOString(),
    total,
    byReason: Object.fromEntries(byReason.counts),
    byRoute: Object.fromEntries(byRoute.counts),
    subject: subjectOf(time),
    networks: JSON.stringify(Object.fromEntries(top)),
  }
}

const begunOf = ({ since, total, byWay }: ReturnType<typeof begunSpan>, time: Date) => ({
  from: since.toISOString(),
  to: time.toISOString(),
  total,
  byWay: Object.fromEntries(byWay.counts),
})

/** Whether a summary of these counts is due: after a minute, or at the end. */
const isDue = ({ since, total }: { readonly since: Date; readonly total: number }, time: Date, final: boolean) =>
  total > 0 && (final || time.getTime() - since.getTime() >= SUMMARY_MS)

/** Counts of refusals and of begun logins since their last summaries. */
const countsSince = (begins: Date) => {
  let current = span(begins)
  let logins = begunSpan(begins)
  return {
    refused: ({ reason, route, network }: Refused, time: Date): void => {
      if (current.total === 0) current.since = time
      current.total++
      current.byReason.add(reason)
      current.byRoute.add(route)
      current.byNetwork.add(network)
    },
    begun: (method: string, time: Date): void => {
      if (logins.total === 0) logins.since = time
      logins.total++
      logins.byWay.add(method)
    },
    /** Removes and returns the summaries that are due. */
    take: (time: Date, final: boolean): Pick<Batch, 'summary' | 'begun'> => {
      const due = isDue(current, time, final)
      const loginsDue = isDue(logins, time, final)
      const taken = {
        ...(due && { summary: summaryOf(current, time) }),
        ...(loginsDue && { begun: begunOf(logins, time) }),
      }
      if (due) current = span(time)
      if (loginsDue) logins = begunSpan(time)
      return taken
    },
  }
}

/**
 * Records refusals and begun logins: some individually, all as counts. Recording a refusal never delays its request.
 */
export const refusalHistory = (execute: Execute, clock: Clock, onError: (error: unknown) => void) => {
  const { now } = clock
  const singly = refusalSampler()
  const counts = countsSince(now())
  /**
   * A batch whose write has an unknown result. The batch is written again unchanged, with the same id, until the write
   * succeeds.
   */
  let unwritten: Batch | undefined
  let flushing: Promise<void> = Promise.resolve()

  const note = (refused: Refused): boolean => {
    const time = now()
    counts.refused(refused, time)
    return singly.add(refused, time)
  }

  const identify = (refused: Refused & { readonly tokenId: string }, refusedAt: Date): void =>
    void singly.add(refused, now(), refusedAt)

  /** Removes and returns the data that is due to be written. */
  const take = (final: boolean): Batch | undefined => {
    const time = now()
    const refusals = singly.take()
    const due = counts.take(time, final)
    if (refusals.length === 0 && !due.summary && !due.begun) return undefined
    return { id: `${time.toISOString().slice(0, 10)}+${randomUUID()}`, refusals, ...due }
  }

  const write = async (batch: Batch | undefined): Promise<void> => {
    if (batch === undefined) return
    unwritten = batch
    const { id, ...command } = batch
    await execute(refusal, id, 'RecordRefusals', command, { actor: { kind: 'system' } })
    unwritten = undefined
  }

  /** Writes at most one new batch, so that the log grows at a bounded rate. */
  const flush = async (final: boolean): Promise<void> => {
    try {
      await write(unwritten)
      await write(take(final))
    } catch (error) {
      onError(error)
    }
  }

  const inTurn = (final: boolean) => (flushing = flushing.then(() => flush(final)))
  const timer = clock.every(FLUSH_MS, () => void inTurn(false))

  return {
    /**
     * Records a refusal. Returns true if the refusal is recorded individually. The function is synchronous, needs
     * bounded time and never throws.
     */
    note,
    /**
     * Adds the token to a recorded refusal, which then may become an event of its own. The function is synchronous,
     * needs bounded time and never throws.
     */
    identify,
    /**
     * Records a begun login by its method and provider. The function is synchronous, needs bounded time and never
     * throws.
     */
    begun: (method: string): void => counts.begun(method, now()),
    /** Writes all recorded data, including the counts. */
    flush: (): Promise<void> => inTurn(true),
    close: async (): Promise<void> => {
      timer.cancel()
      await inTurn(true)
    },
  }
}

export type RefusalHistory = ReturnType<typeof refusalHistory>

import { randomUUID } from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { Execute } from '../commands/execute.ts'
import { type RefusalCommands, refusal } from '../commands/refusal.ts'
import { NETWORKS, type Refused, refusalSampler, subjectOf, tally } from './refusal-sampling.ts'

type Batch = RefusalCommands['RecordRefusals'] & { readonly id: string }

const FLUSH_MS = 5_000
const SUMMARY_MS = 60_000
const ROUTES = 256

/** What was refused since a time. */
const span = (since: Date) => ({
  since,
  total: 0,
  byReason: tally(ROUTES),
  byRoute: tally(ROUTES),
  byNetwork: tally(NETWORKS),
})

/** Logins that were begun since a time. */
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

/** Keeps the history of refusals and of logins that were begun: some singly, all as counts; never in the way of a request. */
export const refusalHistory = (execute: Execute, clock: Clock, onError: (error: unknown) => void) => {
  const { now } = clock
  const singly = refusalSampler()
  let current = span(now())
  let logins = begunSpan(now())
  /** A batch that may or may not have been written: it is retried unchanged, under the same id, until it is known to be. */
  let unwritten: Batch | undefined
  let flushing: Promise<void> = Promise.resolve()

  const note = (refused: Refused): boolean => {
    const time = now()
    if (current.total === 0) current.since = time
    current.total++
    current.byReason.add(refused.reason)
    current.byRoute.add(refused.route)
    current.byNetwork.add(refused.network)
    return singly.add(refused, time)
  }

  const begun = (way: string): void => {
    if (logins.total === 0) logins.since = now()
    logins.total++
    logins.byWay.add(way)
  }

  /** What is due to be written now, taken out of what was noted. */
  const take = (final: boolean): Batch | undefined => {
    const time = now()
    const isDue = ({ since, total }: { readonly since: Date; readonly total: number }) =>
      total > 0 && (final || time.getTime() - since.getTime() >= SUMMARY_MS)
    const due = isDue(current)
    const loginsDue = isDue(logins)
    const refusals = singly.take()
    if (refusals.length === 0 && !due && !loginsDue) return undefined
    const id = `${time.toISOString().slice(0, 10)}+${randomUUID()}`
    const { since, total, byWay } = logins
    const counted = {
      from: since.toISOString(),
      to: time.toISOString(),
      total,
      byWay: Object.fromEntries(byWay.counts),
    }
    const batch = {
      id,
      refusals,
      ...(due && { summary: summaryOf(current, time) }),
      ...(loginsDue && { begun: counted }),
    }
    if (due) current = span(time)
    if (loginsDue) logins = begunSpan(time)
    return batch
  }

  const write = async (batch: Batch | undefined): Promise<void> => {
    if (batch === undefined) return
    unwritten = batch
    const { id, ...command } = batch
    await execute(refusal, id, 'RecordRefusals', command, { actor: { kind: 'system' } })
    unwritten = undefined
  }

  /** One new batch at most, so that the log grows no faster than it may. */
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
    /** Takes note of a refusal; true where it is told singly. Synchronous, bounded, never throws. */
    note,
    /** Takes note of a login that was begun, by its method and provider. Synchronous, bounded, never throws. */
    begun,
    /** Writes what was noted, the counts too. */
    flush: (): Promise<void> => inTurn(true),
    close: async (): Promise<void> => {
      timer.cancel()
      await inTurn(true)
    },
  }
}

export type RefusalHistory = ReturnType<typeof refusalHistory>

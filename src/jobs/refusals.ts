import { randomUUID } from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { Execute } from '../commands/execute.ts'
import { type RefusalCommands, refusal } from '../commands/refusal.ts'
import { NETWORKS, type Refused, refusalSampler, subjectOf, tally } from './refusal-sampling.ts'

type Batch = RefusalCommands['RecordRefusals'] & { readonly id: string }

const FLUSH_MS = 5_000
const SUMMARY_MS = 60_000
const ROUTES = 256

/** Refusals since a time. */
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

/** Records refusals and begun logins: some individually, all as counts. Never delays a request. */
export const refusalHistory = (execute: Execute, clock: Clock, onError: (error: unknown) => void) => {
  const { now } = clock
  const singly = refusalSampler()
  let current = span(now())
  let logins = begunSpan(now())
  /** A batch whose write has an unknown result. It is retried unchanged, with the same id, until the write succeeds. */
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

  const begun = (method: string): void => {
    if (logins.total === 0) logins.since = now()
    logins.total++
    logins.byWay.add(method)
  }

  /** Removes and returns the data that is due to be written. */
  const take = (final: boolean): Batch | undefined => {
    const time = now()
    const due = isDue(current, time, final)
    const loginsDue = isDue(logins, time, final)
    const refusals = singly.take()
    if (refusals.length === 0 && !due && !loginsDue) return undefined
    const id = `${time.toISOString().slice(0, 10)}+${randomUUID()}`
    const batch = {
      id,
      refusals,
      ...(due && { summary: summaryOf(current, time) }),
      ...(loginsDue && { begun: begunOf(logins, time) }),
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
    /** Records a refusal. Returns true if it is recorded individually. Synchronous, bounded, never throws. */
    note,
    /** Records a begun login by its method and provider. Synchronous, bounded, never throws. */
    begun,
    /** Writes all recorded data, including the counts. */
    flush: (): Promise<void> => inTurn(true),
    close: async (): Promise<void> => {
      timer.cancel()
      await inTurn(true)
    },
  }
}

export type RefusalHistory = ReturnType<typeof refusalHistory>

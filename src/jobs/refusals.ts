import { randomUUID } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { type RefusalCommands, refusal } from '../commands/deployment.ts'
import { SYSTEM } from '../commands/envelope.ts'
import type { Execute } from '../commands/execute.ts'
import type { DataOf } from '../events/define.ts'
import type { RefusalEvent } from '../events/refusal.ts'

type RecordedRefusal = DataOf<RefusalEvent, 'AuthenticationRefused'>

/** One refused request. `network` is the address of the client, for IPv6 its /64 network. */
export type Refused = {
  readonly reason: string
  readonly route: string
  readonly requestId: string
  readonly network: string
  readonly tokenId?: string
  readonly provider?: string
  readonly serviceAccount?: string
  /** Missing right and its namespace, or `*`; absent if the right is missing in all namespaces. */
  readonly right?: string
  readonly namespace?: string
  /** True for a failed login or exchange. */
  readonly attempt?: boolean
}

/** Maximum number of refusals recorded individually per flush. All other refusals are in the counts of the summary. */
const TOLD_A_FLUSH = 50
/** Maximum number of refusals recorded individually per token and minute, for all rights and namespaces. */
const TOLD_A_TOKEN = 10
/** Maximum length of a namespace taken from the request. */
const MOST_OF_KEY = 255
/** Maximum number of networks counted individually. */
const NETWORKS = 4_096

/** Counts by key. Beyond `bound` keys, further keys are counted together as `other`. */
const tally = (bound: number) => {
  const counts = new Map<string, number>()
  return {
    counts,
    add: (key: string): void => {
      const known = counts.has(key) || counts.size < bound ? key : 'other'
      counts.set(known, (counts.get(known) ?? 0) + 1)
    },
    /** Returns the count of a key and resets it. */
    take: (key: string): number => {
      const count = counts.get(key) ?? 0
      counts.delete(key)
      return count
    },
  }
}

/** Subject whose key encrypts the addresses of a day. */
const subjectOf = (time: Date) => `network-${time.toISOString().slice(0, 10)}`

/**
 * Selects the refusals that become events of their own. Of one identity, one refusal per minute, reason, right and
 * namespace is selected, at most ten per minute. Of failed logins and exchanges, five per minute and network are
 * selected. The next event contains the number of omitted refusals.
 */
const refusalSampler = () => {
  let sampled: RecordedRefusal[] = []
  let minute = 0
  const seen = new Map<string, number>()
  const more = tally(NETWORKS)

  const count = (key: string): void => {
    const before = seen.get(key)
    if (before !== undefined || seen.size < NETWORKS) seen.set(key, (before ?? 0) + 1)
  }

  const add = (refused: Refused, time: Date, refusedAt = time): boolean => {
    const { reason, route, requestId, network, tokenId, provider, serviceAccount, right, attempt = false } = refused
    const namespace = refused.namespace?.slice(0, MOST_OF_KEY)
    const thisMinute = Math.floor(time.getTime() / 60_000)
    if (thisMinute !== minute) {
      minute = thisMinute
      seen.clear()
    }
    const known = tokenId ?? serviceAccount
    if (known === undefined && !attempt) return false
    const key = [known ?? network, reason, right ?? '', namespace ?? ''].join(' ')
    const times = seen.get(key) ?? 0
    // Beyond its limit the refusals of a token are counted together, because the token chooses the texts of the key.
    const spent = known !== undefined && (seen.get(known) ?? 0) >= TOLD_A_TOKEN
    if (spent || times >= (known === undefined ? 5 : 1) || sampled.length >= TOLD_A_FLUSH) {
      more.add(spent ? known : key)
      return false
    }
    count(key)
    if (known !== undefined) count(known)
    const details = {
      ...(tokenId && { tokenId }),
      ...(provider && { provider }),
      ...(serviceAccount && { serviceAccount }),
      ...(right !== undefined && { right }),
      ...(namespace !== undefined && { namespace }),
    }
    sampled.push({
      reason,
      refusedAt: refusedAt.toISOString(),
      route,
      requestId,
      more: more.take(key) + (known === undefined ? 0 : more.take(known)),
      ...details,
      subject: subjectOf(refusedAt),
      network,
    })
    return true
  }

  return {
    /** Adds a refusal. Returns true if the refusal becomes an event of its own, false if only the summary counts it. */
    add,
    take: (): readonly RecordedRefusal[] => {
      const taken = sampled
      sampled = []
      return taken
    },
  }
}

type Batch = RefusalCommands['RecordRefusals'] & { readonly id: string }

const FLUSH_MS = 5_000
const SUMMARY_MS = 60_000
const ROUTES = 256

const span = (since: Date) => ({
  since,
  total: 0,
  byReason: tally(ROUTES),
  byRoute: tally(ROUTES),
  byNetwork: tally(NETWORKS),
})

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
    await execute(refusal, id, 'RecordRefusals', command, SYSTEM)
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

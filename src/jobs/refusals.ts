import { randomUUID } from 'node:crypto'
import type { Execute } from '../commands/execute.ts'
import { refusal, type RefusalCommands } from '../commands/refusal.ts'
import type { DataOf } from '../events/define.ts'
import type { RefusalEvent } from '../events/refusal.ts'

type Told = DataOf<RefusalEvent, 'AuthenticationRefused'>
type Batch = RefusalCommands['RecordRefusals'] & { readonly id: string }

/** One refused request. `network` is the client's address (IPv6: its /64). */
export type Refused = {
  readonly reason: string
  readonly route: string
  readonly requestId: string
  readonly network: string
  readonly tokenId?: string
  readonly provider?: string
  readonly serviceAccount?: string
  /** True for a login or an exchange that failed. */
  readonly attempt?: boolean
}

const FLUSH_MS = 5_000
const SUMMARY_MS = 60_000
/** At most this many refusals are told singly in one flush; the rest is in the summary's counts. */
const TOLD_A_FLUSH = 50
const NETWORKS = 4_096
const ROUTES = 256

/** Counts by key; past `bound` keys, further ones are counted together as `other`. */
const tally = (bound: number) => {
  const counts = new Map<string, number>()
  return {
    counts,
    add: (key: string): void => {
      const known = counts.has(key) || counts.size < bound ? key : 'other'
      counts.set(known, (counts.get(known) ?? 0) + 1)
    },
    /** The count of a key, which begins anew. */
    take: (key: string): number => {
      const count = counts.get(key) ?? 0
      counts.delete(key)
      return count
    },
  }
}

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

/** Keeps the history of refusals and of logins that were begun: those of a known identity one a minute, failed logins and exchanges five a minute and network, all else as counts; never in the way of a request. */
export const refusalHistory = (execute: Execute, now: () => Date, onError: (error: unknown) => void) => {
  let told: Told[] = []
  let current = span(now())
  let logins = begunSpan(now())
  let minute = 0
  const seen = new Map<string, number>()
  const more = tally(NETWORKS)
  /** A batch that may be written already, or not: it is tried again as it is, under the same id, until it is known to be. */
  let unwritten: Batch | undefined
  let flushing: Promise<void> = Promise.resolve()
  const subjectOf = (time: Date) => `network-${time.toISOString().slice(0, 10)}`

  const note = ({
    reason,
    route,
    requestId,
    network,
    tokenId,
    provider,
    serviceAccount,
    attempt = false,
  }: Refused): void => {
    const time = now()
    if (current.total === 0) current.since = time
    current.total++
    current.byReason.add(reason)
    current.byRoute.add(route)
    current.byNetwork.add(network)
    const thisMinute = Math.floor(time.getTime() / 60_000)
    if (thisMinute !== minute) {
      minute = thisMinute
      seen.clear()
    }
    const known = tokenId ?? serviceAccount
    if (known === undefined && !attempt) return
    const key = `${known ?? network} ${reason}`
    const before = seen.get(key) ?? 0
    if (before >= (known === undefined ? 5 : 1) || told.length >= TOLD_A_FLUSH) return more.add(key)
    if (seen.has(key) || seen.size < NETWORKS) seen.set(key, before + 1)
    const who = {
      ...(tokenId && { tokenId }),
      ...(provider && { provider }),
      ...(serviceAccount && { serviceAccount }),
    }
    told.push({
      reason,
      refusedAt: time.toISOString(),
      route,
      requestId,
      more: more.take(key),
      ...who,
      subject: subjectOf(time),
      network,
    })
  }

  const begun = (way: string): void => {
    if (logins.total === 0) logins.since = now()
    logins.total++
    logins.byWay.add(way)
  }

  const summary = (time: Date) => {
    const { since, total, byReason, byRoute, byNetwork } = current
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

  /** What is due to be written now, taken out of what was noted. */
  const take = (final: boolean): Batch | undefined => {
    const time = now()
    const isDue = ({ since, total }: { readonly since: Date; readonly total: number }) =>
      total > 0 && (final || time.getTime() - since.getTime() >= SUMMARY_MS)
    const due = isDue(current)
    const loginsDue = isDue(logins)
    if (told.length === 0 && !due && !loginsDue) return undefined
    const id = `${time.toISOString().slice(0, 10)}+${randomUUID()}`
    const { since, total, byWay } = logins
    const counted = {
      from: since.toISOString(),
      to: time.toISOString(),
      total,
      byWay: Object.fromEntries(byWay.counts),
    }
    const batch = { id, refusals: told, ...(due && { summary: summary(time) }), ...(loginsDue && { begun: counted }) }
    told = []
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
  const timer = setInterval(() => void inTurn(false), FLUSH_MS).unref()

  return {
    /** Takes note of a refusal. Synchronous, bounded, never throws. */
    note,
    /** Takes note of a login that was begun, by its method and provider. Synchronous, bounded, never throws. */
    begun,
    /** Writes what was noted, the counts too. */
    flush: (): Promise<void> => inTurn(true),
    close: async (): Promise<void> => {
      clearInterval(timer)
      await inTurn(true)
    },
  }
}

export type RefusalHistory = ReturnType<typeof refusalHistory>

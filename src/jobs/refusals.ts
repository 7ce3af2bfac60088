import { randomUUID } from 'node:crypto'
import type { Execute } from '../commands/execute.ts'
import { refusal } from '../commands/refusal.ts'
import type { DataOf } from '../events/define.ts'
import type { RefusalEvent } from '../events/refusal.ts'

type Told = DataOf<RefusalEvent, 'AuthenticationRefused'>

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

/** Keeps the history of refusals: those of a known identity one a minute, failed logins and exchanges five a minute and network, all others as counts; never in the way of a request. */
export const refusalHistory = (execute: Execute, now: () => Date, onError: (error: unknown) => void) => {
  let told: Told[] = []
  let minute = 0
  let since = now()
  let flushing: Promise<void> = Promise.resolve()
  const seen = new Map<string, number>()
  const more = new Map<string, number>()
  const byReason = new Map<string, number>()
  const byRoute = new Map<string, number>()
  const byNetwork = new Map<string, number>()
  let total = 0
  const subjectOf = (time: Date) => `network-${time.toISOString().slice(0, 10)}`
  const count = (map: Map<string, number>, key: string, bound: number) => {
    const known = map.has(key) || map.size < bound ? key : 'other'
    map.set(known, (map.get(known) ?? 0) + 1)
  }

  const note = ({ reason, route, requestId, network, tokenId, provider, serviceAccount, attempt = false }: Refused): void => {
    const time = now()
    if (total++ === 0) since = time
    count(byReason, reason, ROUTES)
    count(byRoute, route, ROUTES)
    count(byNetwork, network, NETWORKS)
    const thisMinute = Math.floor(time.getTime() / 60_000)
    if (thisMinute !== minute) {
      minute = thisMinute
      seen.clear()
    }
    const known = tokenId ?? serviceAccount
    if (known === undefined && !attempt) return
    const key = known === undefined ? `${network} ${reason}` : `${known} ${reason}`
    const before = seen.get(key) ?? 0
    if (seen.size < NETWORKS) seen.set(key, before + 1)
    if (before >= (known === undefined ? 5 : 1) || told.length >= TOLD_A_FLUSH) return count(more, key, NETWORKS)
    const like = more.get(key) ?? 0
    more.delete(key)
    const who = { ...(tokenId && { tokenId }), ...(provider && { provider }), ...(serviceAccount && { serviceAccount }) }
    told.push({ reason, refusedAt: time.toISOString(), route, requestId, more: like, ...who, subject: subjectOf(time), network })
  }

  const flush = async (final: boolean): Promise<void> => {
    const time = now()
    const due = total > 0 && (final || time.getTime() - since.getTime() >= SUMMARY_MS)
    if (told.length === 0 && !due) return
    const [refusals, counted] = [told, total]
    told = []
    const top = [...byNetwork].sort(([, a], [, b]) => b - a).slice(0, 10)
    const summary = due && {
      from: since.toISOString(),
      to: time.toISOString(),
      total: counted,
      byReason: Object.fromEntries(byReason),
      byRoute: Object.fromEntries(byRoute),
      subject: subjectOf(time),
      networks: JSON.stringify(Object.fromEntries(top)),
    }
    const maps = [byReason, byRoute, byNetwork]
    const kept = maps.map((map) => new Map(map))
    if (due) {
      total = 0
      since = time
      for (const map of maps) map.clear()
    }
    try {
      const id = `${time.toISOString().slice(0, 10)}+${randomUUID()}`
      await execute(refusal, id, 'RecordRefusals', { refusals, summary: summary || undefined }, { actor: { kind: 'system' } })
    } catch (error) {
      onError(error)
      told = [...refusals, ...told].slice(0, TOLD_A_FLUSH)
      if (!due) return
      total += counted
      for (const [n, map] of maps.entries()) for (const [key, value] of kept[n]!) map.set(key, (map.get(key) ?? 0) + value)
    }
  }

  const inTurn = (final: boolean) => (flushing = flushing.then(() => flush(final)))
  const timer = setInterval(() => void inTurn(false), FLUSH_MS).unref()

  return {
    /** Takes note of a refusal. Synchronous, bounded, never throws. */
    note,
    /** Writes what was noted; at the end of the service the counts too. */
    flush: (): Promise<void> => inTurn(true),
    close: async (): Promise<void> => {
      clearInterval(timer)
      await inTurn(true)
    },
  }
}

export type RefusalHistory = ReturnType<typeof refusalHistory>

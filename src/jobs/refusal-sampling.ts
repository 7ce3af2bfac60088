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
export const NETWORKS = 4_096

/** Counts by key. Beyond `bound` keys, further keys are counted together as `other`. */
export const tally = (bound: number) => {
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
export const subjectOf = (time: Date) => `network-${time.toISOString().slice(0, 10)}`

/**
 * Selects the refusals that become events of their own. Of one identity, one refusal per minute, reason, right and
 * namespace is selected, at most ten per minute. Of failed logins and exchanges, five per minute and network are
 * selected. The next event contains the number of omitted refusals.
 */
export const refusalSampler = () => {
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
    /** Returns the refusals added since the last call. */
    take: (): readonly RecordedRefusal[] => {
      const taken = sampled
      sampled = []
      return taken
    },
  }
}

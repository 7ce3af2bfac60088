import type { DataOf } from '../events/define.ts'
import type { RefusalEvent } from '../events/refusal.ts'

type RecordedRefusal = DataOf<RefusalEvent, 'AuthenticationRefused'>

/** One refused request. `network` is the client's address (IPv6: its /64). */
export type Refused = {
  readonly reason: string
  readonly route: string
  readonly requestId: string
  readonly network: string
  readonly tokenId?: string
  readonly provider?: string
  readonly serviceAccount?: string
  /** The right that was missing, and where: a namespace, or `*`; no place where it is held nowhere. */
  readonly right?: string
  readonly namespace?: string
  /** True for a login or an exchange that failed. */
  readonly attempt?: boolean
}

/** At most this many refusals are told singly in one flush; the rest is in the summary's counts. */
const TOLD_A_FLUSH = 50
/** Of one token so many a minute, however many rights it tries in however many namespaces. */
const TOLD_A_TOKEN = 10
/** Characters of a namespace that only the request names. */
const MOST_OF_KEY = 255
/** Networks that are told apart. */
export const NETWORKS = 4_096

/** Counts by key; past `bound` keys, further ones are counted together as `other`. */
export const tally = (bound: number) => {
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

/** Whose key the addresses of a day are sealed with. */
export const subjectOf = (time: Date) => `network-${time.toISOString().slice(0, 10)}`

/**
 * The refusals told one by one: a known identity once a minute for each reason, right and namespace, and ten times in all; failed logins and
 * exchanges five times a minute per network. The next one told says how many were left out.
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

  const add = (refused: Refused, time: Date): boolean => {
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
    // Of what one token is refused beyond its share the texts are its own: they are counted together.
    const spent = known !== undefined && (seen.get(known) ?? 0) >= TOLD_A_TOKEN
    if (spent || times >= (known === undefined ? 5 : 1) || sampled.length >= TOLD_A_FLUSH) {
      more.add(spent ? known : key)
      return false
    }
    count(key)
    if (known !== undefined) count(known)
    const who = {
      ...(tokenId && { tokenId }),
      ...(provider && { provider }),
      ...(serviceAccount && { serviceAccount }),
      ...(right !== undefined && { right }),
      ...(namespace !== undefined && { namespace }),
    }
    sampled.push({
      reason,
      refusedAt: time.toISOString(),
      route,
      requestId,
      more: more.take(key) + (known === undefined ? 0 : more.take(known)),
      ...who,
      subject: subjectOf(time),
      network,
    })
    return true
  }

  return {
    /** Whether it is told: those of many alike are not. */
    add,
    /** Those added since it was last asked. */
    take: (): readonly RecordedRefusal[] => {
      const taken = sampled
      sampled = []
      return taken
    },
  }
}

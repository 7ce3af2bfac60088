import type { Clock } from './clock.ts'
import type { Refusal } from './errors.ts'

/**
 * Owner of leases. Holders of published tokens share a common limit, because anyone can be one. `each` replaces the limit
 * of the gate for one holder.
 */
export type Taker = { readonly holder: string; readonly published?: boolean; readonly each?: number }

/** Weight taken from a gate until it is freed. */
export type Lease = {
  readonly weight: () => number
  /** Changes the weight of a lease. Returns false, without a change, if there is no space. */
  readonly resize: (weight: number) => boolean
  /** Changes the weight regardless of the limit, for data that already exists. */
  readonly hold: (weight: number) => void
  /** Frees the whole weight; further calls have no effect. */
  readonly free: () => void
}

type Limits<E> = {
  readonly total: number
  /**
   * Maximum weight of the leases of one holder, and of all holders of published tokens together. Each of these may have a
   * quarter of it.
   */
  readonly each?: number
  /** Maximum waiting requests, in total and per holder. */
  readonly waiting?: number
  readonly waitingEach?: number
  /** Maximum time in ms that a request waits. */
  readonly within?: { readonly clock: Pick<Clock, 'after'>; readonly ms: number }
  /** Error for a request that may not wait, or has waited too long. Only a gate without these bounds needs none. */
  readonly refused?: () => E
}

type Waiting = { readonly taker: Taker; readonly weight: number; readonly go: () => void }

/** Fraction of the share of all holders of published tokens that each of them may have. */
const PUBLISHED = 4

const ANY: Taker = { holder: '' }

const isWithin = (had: number, more: number, most: number): boolean => had === 0 || had + more <= most

/** Weight of all leases, and the check for more. */
const weights = (total: number, each: number) => {
  const held = new Map<string, number>()
  let [all, published] = [0, 0]
  return {
    held: (holder?: string): number => (holder === undefined ? all : (held.get(holder) ?? 0)),
    add: ({ holder, published: isPublished }: Taker, weight: number): void => {
      const left = (held.get(holder) ?? 0) + weight
      if (left > 0) held.set(holder, left)
      else held.delete(holder)
      all += weight
      if (isPublished) published += weight
    },
    fits: ({ holder, published: isPublished, each: share = each }: Taker, weight: number): boolean =>
      isWithin(all, weight, total) &&
      isWithin(held.get(holder) ?? 0, weight, isPublished ? share / PUBLISHED : share) &&
      (!isPublished || isWithin(published, weight, share)),
  }
}

/** Lease of a gate. `serve` runs whenever the lease returns weight. */
const leaseOf = ({ add, fits }: ReturnType<typeof weights>, serve: () => void, taker: Taker, taken: number): Lease => {
  let [weight, isFree] = [taken, false]
  add(taker, taken)
  const change = (next: number): void => {
    if (isFree) return
    const more = next - weight
    weight = next
    add(taker, more)
    if (more < 0) serve()
  }
  return {
    weight: () => weight,
    hold: change,
    resize: (next) => {
      if (!isFree && next > weight) {
        // The weight of this lease does not count against it.
        add(taker, -weight)
        const isAllowed = fits(taker, next)
        add(taker, weight)
        if (!isAllowed) return false
      }
      change(next)
      return true
    },
    free: () => {
      change(0)
      isFree = true
    },
  }
}

/** Takes a lease of each gate, or none. */
export const takeAll = (takes: readonly (() => Lease | undefined)[]): Pick<Lease, 'free'> | undefined => {
  const leases: Lease[] = []
  const free = (): void => {
    for (const lease of leases) lease.free()
  }
  for (const take of takes) {
    const lease = take()
    if (lease) leases.push(lease)
    else {
      free()
      return undefined
    }
  }
  return { free }
}

const lineOfHolders = () => {
  const lines = new Map<string, Set<Waiting>>()
  let all = 0
  return {
    size: (holder?: string): number => (holder === undefined ? all : (lines.get(holder)?.size ?? 0)),
    /** Adds a request, and returns the function that removes it. */
    enter: (request: Waiting): (() => void) => {
      const { holder } = request.taker
      const line = lines.get(holder) ?? new Set()
      lines.set(holder, line.add(request))
      all++
      return () => {
        line.delete(request)
        if (line.size === 0) lines.delete(holder)
        all--
      }
    },
    /** Serves all requests that fit, in turn. A large request does not block smaller ones. */
    serve: (fits: (taker: Taker, weight: number) => boolean): void => {
      for (const [holder, line] of lines) {
        const [first] = line
        if (!fits(first!.taker, first!.weight)) continue
        // The loop reaches this holder again after all others.
        lines.delete(holder)
        lines.set(holder, line)
        first!.go()
      }
    },
  }
}

/**
 * Limits the weight of concurrent work in total and per holder (docs/decisions/0034). Waiting holders are served in turns
 * (round-robin), and each of them in order. A holder without a lease may exceed its share, and the first lease the total,
 * so that a single request is always served.
 */
export const fairGate = <E extends Error = Refusal>(limits: Limits<E>) => {
  const { total, each = total, waiting = Infinity, waitingEach = waiting, within, refused } = limits
  const taken = weights(total, each)
  const line = lineOfHolders()
  let refusals = 0

  const serve = (): void => line.serve(taken.fits)
  /** Takes weight regardless of the limit, for data that already exists. */
  const hold = (taker: Taker, weight: number): Lease => leaseOf(taken, serve, taker, weight)
  /** Counts and returns the error of a request that does not fit. */
  const refusal = (): E => {
    refusals++
    return refused!()
  }
  const inTurn = (taker: Taker, weight: number, signal: AbortSignal | undefined): Promise<Lease> =>
    new Promise((resolve, reject) => {
      const end = (): void => {
        leave()
        timer?.cancel()
        signal?.removeEventListener('abort', onEnd)
      }
      const go = (): void => {
        end()
        resolve(hold(taker, weight))
      }
      const onEnd = (): void => {
        end()
        reject(refused ? refusal() : signal!.reason)
      }
      const timer = within?.clock.after(within.ms, onEnd).unref()
      signal?.addEventListener('abort', onEnd, { once: true })
      const leave = line.enter({ taker, weight, go })
    })

  /** Takes weight immediately; `undefined` if there is no space. */
  const takeNow = (taker: Taker, weight = 1): Lease | undefined =>
    taken.fits(taker, weight) ? hold(taker, weight) : undefined
  /**
   * Takes weight, immediately or after waiting. An aborted `signal` ends the wait with the error of `refused`, else with
   * its reason.
   */
  const take = (taker = ANY, weight = 1, signal?: AbortSignal): Lease | Promise<Lease> => {
    const now = takeNow(taker, weight)
    if (now) return now
    if (line.size() >= waiting || line.size(taker.holder) >= waitingEach) throw refusal()
    return inTurn(taker, weight, signal)
  }

  return {
    total,
    /** Weight of all leases, or of those of one holder. */
    held: taken.held,
    /** Number of waiting requests, or of those of one holder. */
    waiting: line.size,
    refused: (): number => refusals,
    refusal,
    takeNow,
    take,
    hold,
    /** Runs work while it holds a lease of weight 1. */
    run: async <T>(work: () => Promise<T>, taker?: Taker, signal?: AbortSignal): Promise<T> => {
      const lease = await take(taker, 1, signal)
      try {
        return await work()
      } finally {
        lease.free()
      }
    },
  }
}
export type FairGate = ReturnType<typeof fairGate<Refusal>>

import type { Clock } from './clock.ts'
import { Refusal } from './errors.ts'

/** Owner of bytes of a memory budget. Holders of published tokens share a common limit, because anyone can be one. */
export type Taker = { readonly holder: string; readonly published: boolean }

/** Bytes taken from a budget until they are freed. */
export type Lease = {
  readonly bytes: () => number
  /** Changes the number of bytes of a lease. Returns false, without a change, if there is no space. */
  readonly resize: (bytes: number) => boolean
  /** Changes the number of bytes regardless of the limit, for data that already exists. */
  readonly hold: (bytes: number) => void
  /** Frees all bytes; further calls have no effect. */
  readonly free: () => void
}

/**
 * Limits as fractions of the budget: a quarter for each holder, and a quarter for all holders of published tokens
 * together. Each holder of a published token may have a quarter of that quarter.
 */
const SHARE = 4
/** Maximum waiting requests in total and per holder. */
const WAITING = { all: 1024, each: 64 }
const WAIT_MS = 5_000

type Waiting = { readonly taker: Taker; readonly bytes: number; readonly go: () => void }

/** Bytes taken from a budget, and the check for more. */
const account = (most: number) => {
  const held = new Map<string, number>()
  let [all, published] = [0, 0]
  const isWithin = (had: number, more: number, share: number): boolean => had === 0 || had + more <= share

  return {
    all: (): number => all,
    add: ({ holder, published: isPublished }: Taker, bytes: number): void => {
      const left = (held.get(holder) ?? 0) + bytes
      if (left > 0) held.set(holder, left)
      else held.delete(holder)
      all += bytes
      if (isPublished) published += bytes
    },
    /**
     * Returns true if a holder may take `bytes` more. A holder without bytes may exceed its share, so that a single
     * request is always served.
     */
    fits: ({ holder, published: isPublished }: Taker, bytes: number): boolean => {
      const share = most / SHARE
      const own = held.get(holder) ?? 0
      if (!isWithin(all, bytes, most)) return false
      if (!isPublished) return isWithin(own, bytes, share)
      return isWithin(own, bytes, share / SHARE) && isWithin(published, bytes, share)
    },
  }
}

/** Waiting requests by holder. Holders of tokens are served in turns (round-robin). */
const lines = () => {
  const waiting = new Map<string, Set<Waiting>>()
  let all = 0
  const remove = (request: Waiting): void => {
    const line = waiting.get(request.taker.holder)
    if (line?.delete(request)) all--
    if (line?.size === 0) waiting.delete(request.taker.holder)
  }
  return {
    size: (): number => all,
    isFull: (holder: string): boolean => all >= WAITING.all || (waiting.get(holder)?.size ?? 0) >= WAITING.each,
    add: (request: Waiting): void => {
      const { holder } = request.taker
      waiting.set(holder, (waiting.get(holder) ?? new Set()).add(request))
      all++
    },
    remove,
    /** First waiting request, in round-robin order, that fits. */
    next: (fits: (request: Waiting) => boolean): Waiting | undefined => {
      for (const [request] of waiting.values()) if (request && fits(request)) return request
      return undefined
    },
    /** Removes a request that is served and moves its holder to the end of the order. */
    leave: (request: Waiting): void => {
      const line = waiting.get(request.taker.holder)!
      waiting.delete(request.taker.holder)
      waiting.set(request.taker.holder, line)
      remove(request)
    },
  }
}

/** Lease of bytes of a memory budget. `serve` runs whenever the lease returns bytes. */
const lease = (
  { add, fits }: Pick<ReturnType<typeof account>, 'add' | 'fits'>,
  serve: () => void,
  taker: Taker,
  taken: number,
): Lease => {
  let [held, isFree] = [taken, false]
  add(taker, taken)
  const change = (bytes: number): void => {
    if (isFree) return
    const more = bytes - held
    held = bytes
    add(taker, more)
    if (more < 0) serve()
  }
  return {
    bytes: () => held,
    hold: change,
    resize: (bytes) => {
      if (isFree) return true
      // The bytes of this lease do not count against it.
      add(taker, -held)
      const isAllowed = bytes <= held || fits(taker, bytes)
      add(taker, held)
      if (isAllowed) change(bytes)
      return isAllowed
    },
    free: () => {
      change(0)
      isFree = true
    },
  }
}

/**
 * Memory budget in bytes that all requests share for one purpose (docs/decisions/0034). Holders are served in turns,
 * and no holder can take the whole budget. A request that does not fit waits at most `withinMs` and is then refused
 * with `busy`.
 */
export const byteBudget = (most: number, { after }: Pick<Clock, 'after'>, withinMs = WAIT_MS) => {
  const bytesHeld = account(most)
  const { all, fits } = bytesHeld
  const line = lines()
  let refused = 0

  /** Counts and returns the refusal of a request that does not fit. */
  const busy = (): Refusal => {
    refused++
    return new Refusal('busy')
  }
  /** Serves all waiting requests that fit, in turn. A large request does not block smaller ones. */
  const serve = (): void => {
    while (line.size() > 0) {
      const next = line.next(({ taker, bytes }) => fits(taker, bytes))
      if (!next) return
      line.leave(next)
      next.go()
    }
  }
  const hold = (taker: Taker, taken: number): Lease => lease(bytesHeld, serve, taker, taken)
  const inTurn = (taker: Taker, bytes: number): Promise<Lease> =>
    new Promise((resolve, reject) => {
      const go = (): void => {
        timer.cancel()
        resolve(hold(taker, bytes))
      }
      const request = { taker, bytes, go }
      const timer = after(withinMs, () => {
        line.remove(request)
        reject(busy())
      }).unref()
      line.add(request)
    })
  const takeNow = (taker: Taker, bytes: number): Lease | undefined =>
    fits(taker, bytes) ? hold(taker, bytes) : undefined

  return {
    most,
    used: all,
    waiting: line.size,
    refused: (): number => refused,
    busy,
    /** Takes bytes immediately; `undefined` if there is no space. */
    takeNow,
    /** Takes bytes of the budget, immediately or after waiting. */
    take: (taker: Taker, bytes: number): Lease | Promise<Lease> => {
      const now = takeNow(taker, bytes)
      if (now) return now
      if (line.isFull(taker.holder)) throw busy()
      return inTurn(taker, bytes)
    },
    /** Takes bytes regardless of the limit, for data that already exists. */
    hold,
  }
}

export type ByteBudget = ReturnType<typeof byteBudget>

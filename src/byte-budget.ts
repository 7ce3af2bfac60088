import type { Clock } from './clock.ts'
import { Refusal } from './errors.ts'

/** Who takes of a budget. What holders of published tokens have counts together too, for anybody may be one. */
export type Taker = { readonly holder: string; readonly published: boolean }

/** Bytes that are taken of a budget until they are given back. */
export type Lease = {
  readonly bytes: () => number
  /** Takes so many bytes from now on. False where there is no room for them; then nothing changes. */
  readonly resize: (bytes: number) => boolean
  /** Takes so many bytes from now on, room or not: of what is there already. */
  readonly hold: (bytes: number) => void
  /** Gives all back, once. */
  readonly free: () => void
}

/** A holder has at most a quarter of a budget, and so have all holders of published tokens together; each of them has a quarter of that. */
const SHARE = 4
/** How many may wait: of all, and of each holder. */
const WAITING = { all: 1024, each: 64 }
const WAIT_MS = 5_000

type Waiting = { readonly taker: Taker; readonly bytes: number; readonly go: () => void }

/** What is taken of a budget, and whether there is room for more. */
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
    /** Whether a holder may have so many bytes beside what it has. One that has nothing may have more than its share, so that whatever is asked alone is served. */
    fits: ({ holder, published: isPublished }: Taker, bytes: number): boolean => {
      const share = most / SHARE
      const own = held.get(holder) ?? 0
      if (!isWithin(all, bytes, most)) return false
      if (!isPublished) return isWithin(own, bytes, share)
      return isWithin(own, bytes, share / SHARE) && isWithin(published, bytes, share)
    },
  }
}

/** Those that wait, by holder; holders take turns, and whose turn is next comes first. */
const lines = () => {
  const waiting = new Map<string, Set<Waiting>>()
  let all = 0
  const remove = (one: Waiting): void => {
    const line = waiting.get(one.taker.holder)
    if (line?.delete(one)) all--
    if (line?.size === 0) waiting.delete(one.taker.holder)
  }
  return {
    size: (): number => all,
    isFull: (holder: string): boolean => all >= WAITING.all || (waiting.get(holder)?.size ?? 0) >= WAITING.each,
    add: (one: Waiting): void => {
      const { holder } = one.taker
      waiting.set(holder, (waiting.get(holder) ?? new Set()).add(one))
      all++
    },
    remove,
    /** The first in turn of those that fit. */
    next: (fits: (one: Waiting) => boolean): Waiting | undefined => {
      for (const [one] of waiting.values()) if (one && fits(one)) return one
      return undefined
    },
    /** It goes; its holder's next turn comes after those of all others. */
    leave: (one: Waiting): void => {
      const line = waiting.get(one.taker.holder)!
      waiting.delete(one.taker.holder)
      waiting.set(one.taker.holder, line)
      remove(one)
    },
  }
}

/**
 * Bytes of memory that all requests may hold together for one purpose (docs/decisions/0034). Holders are served in turn, and none can have
 * all of them. Who finds no room waits, for no longer than `withinMs`, and is then refused with `busy`.
 */
export const byteBudget = (most: number, { after }: Pick<Clock, 'after'>, withinMs = WAIT_MS) => {
  const { all, add, fits } = account(most)
  const line = lines()
  let refused = 0

  /** The refusal of who finds no room. */
  const busy = (): Refusal => {
    refused++
    return new Refusal('busy')
  }
  /** Lets those go that fit now, in turn. Nobody is held up by one that asks for more. */
  const serve = (): void => {
    while (line.size() > 0) {
      const next = line.next(({ taker, bytes }) => fits(taker, bytes))
      if (!next) return
      line.leave(next)
      next.go()
    }
  }
  const hold = (taker: Taker, taken: number): Lease => {
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
        // What it has itself is no reason to refuse it more.
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
  const inTurn = (taker: Taker, bytes: number): Promise<Lease> =>
    new Promise((resolve, reject) => {
      const go = (): void => {
        timer.cancel()
        resolve(hold(taker, bytes))
      }
      const one = { taker, bytes, go }
      const timer = after(withinMs, () => {
        line.remove(one)
        reject(busy())
      }).unref()
      line.add(one)
    })
  const takeNow = (taker: Taker, bytes: number): Lease | undefined =>
    fits(taker, bytes) ? hold(taker, bytes) : undefined

  return {
    most,
    used: all,
    waiting: line.size,
    refused: (): number => refused,
    busy,
    /** Takes bytes at once; `undefined` where there is no room. */
    takeNow,
    /** Takes bytes, at once or in turn. */
    take: (taker: Taker, bytes: number): Lease | Promise<Lease> => {
      const now = takeNow(taker, bytes)
      if (now) return now
      if (line.isFull(taker.holder)) throw busy()
      return inTurn(taker, bytes)
    },
    /** Takes bytes, room or not: of what is there already. */
    hold,
  }
}

export type ByteBudget = ReturnType<typeof byteBudget>

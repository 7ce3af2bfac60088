import { randomUUID } from 'node:crypto'
import type { Db } from 'mongodb'
import type { Clock } from '../../base/clock.ts'
import type { Lease } from '../../projections/engine/lease.ts'
import { type Calls, unlessDuplicate } from './calls.ts'

/** `beat` counts renewals, `term` counts changes of the holder. No wall-clock time is stored. */
type StoredLease = { readonly _id: string; readonly holder: string; readonly term: number; readonly beat: number }

const NO_HOLDER = ''
/** After giving up the lease, an instance waits this many times its length before it takes the lease again. */
const REST = 2

/**
 * Lease that at most one of all instances holds at a time. The lease lasts `ttl` ms from the time at which its holder
 * sends a renewal. A different instance acquires the lease after it has seen no renewal for 1.25 `ttl`; all durations
 * are measured on local monotonic clocks, so clocks need not agree.
 */
export const mongoLease = (db: Db, calls: Calls, clock: Clock, name: string, ttl: number): Lease => {
  const leases = db.collection<StoredLease>('leases')
  const me = randomUUID()
  let term: number | undefined
  let until = Number.NEGATIVE_INFINITY
  let seen = { term: -1, beat: -1, since: 0 }
  let closed = false
  let able = () => true
  let restsUntil = Number.NEGATIVE_INFINITY

  const giveUp = async () => {
    const mine = { _id: name, holder: me, term: term! }
    term = undefined
    until = Number.NEGATIVE_INFINITY
    restsUntil = clock.monotonic() + REST * ttl
    await calls.call('write', () => leases.updateOne(mine, { $set: { holder: NO_HOLDER } }))
  }

  const renew = async (mine: number) => {
    const sent = clock.monotonic()
    const renewed = await calls.call('write', () =>
      leases.updateOne({ _id: name, holder: me, term: mine }, { $inc: { beat: 1 } }),
    )
    if (renewed.matchedCount > 0) until = sent + ttl
    else term = undefined
  }

  const take = async () => {
    const found = await calls.call('read', (limits) => leases.findOne({ _id: name }, limits))
    const now = clock.monotonic()
    if (!found) {
      await calls.call('write', () =>
        unlessDuplicate(leases.insertOne({ _id: name, holder: NO_HOLDER, term: 0, beat: 0 })),
      )
      return take()
    }
    if (found.term !== seen.term || found.beat !== seen.beat) seen = { term: found.term, beat: found.beat, since: now }
    if (found.holder !== NO_HOLDER && now - seen.since <= ttl * 1.25) return
    const where = { _id: name, term: found.term, beat: found.beat }
    const update = { $set: { holder: me, term: found.term + 1 }, $inc: { beat: 1 } }
    const sent = clock.monotonic()
    const { matchedCount } = await calls.call('write', () => leases.updateOne(where, update))
    if (matchedCount === 0) return
    term = found.term + 1
    until = sent + ttl
  }

  // If the connection is lost, the lease is not renewed. The error is not reported here, because the work that needs
  // the lease reports its own errors.
  const next = async () => {
    if (term !== undefined) await (able() ? renew(term) : giveUp())
    else if (able() && clock.monotonic() >= restsUntil) await take()
  }
  const step = () => next().catch(() => undefined)
  let turn: Promise<void> | undefined
  const tick = () => {
    if (!closed) turn ??= step().finally(() => (turn = undefined))
  }
  tick()
  const timer = clock.every(ttl / 3, tick)

  return {
    held: () => !closed && clock.monotonic() < until && able(),
    onlyWhile: (given) => {
      able = given
    },
    close: async () => {
      closed = true
      timer.cancel()
      await turn
      if (term !== undefined) await giveUp().catch(() => undefined)
    },
  }
}

import type { Test } from 'tap'
import type { Clock } from '../../src/base/clock.ts'
import type { Lease } from '../../src/projections/views.ts'
import { virtualClock } from '../virtual-clock.ts'

/** Connection of an instance to the shared store. */
export type LeaseStore = {
  readonly lease: (name: string, ttl: number) => Lease
  /** Ends the connection like a network failure. */
  readonly close: () => Promise<void>
}

/** New store on a clock, for several instances. */
export type SharedStore = {
  readonly open: () => Promise<LeaseStore>
  /** Resolves once no lease waits for the store. */
  readonly rest: () => Promise<unknown>
}

const TTL = 600
const STEP = 50

/** Contract of Lease. */
export const leaseContract = (t: Test, make: (clock: Clock) => SharedStore): void => {
  /**
   * Opens a store for several instances and advances time from timer to timer, in small steps; `look` runs after each.
   */
  const opened = async (instances: number) => {
    const clock = virtualClock()
    const { open, rest } = make(clock)
    const stores = await Promise.all(Array.from({ length: instances }, open))
    return {
      stores,
      rest,
      pass: async (ms: number, look: () => void = () => undefined) => {
        for (let left = ms; left > 0; ) {
          const step = Math.min(left, STEP, ...clock.waiting())
          await clock.advance(step)
          await rest()
          look()
          left -= step
        }
      },
      close: async () => {
        await Promise.all(stores.map(({ close }) => close()))
      },
    }
  }

  void t.test('exactly one of many instances holds a lease at any moment', async (t) => {
    const { stores, rest, pass, close } = await opened(4)
    const leases = stores.map(({ lease }) => lease('follower', TTL))
    const holding = () => leases.filter(({ held }) => held()).length
    await rest()
    t.equal(holding(), 1, 'at once')
    const seen: number[] = []
    await pass(4 * TTL, () => seen.push(holding()))
    t.equal(seen.length, (4 * TTL) / STEP)
    t.ok(seen.every((holders) => holders === 1))
    await Promise.all(leases.map((lease) => lease.close()))
    t.equal(holding(), 0)
    await close()
  })

  void t.test('a released lease is not held again, and the next takes it before its expiry', async (t) => {
    const { stores, rest, pass, close } = await opened(2)
    const first = stores[0]!.lease('follower', TTL)
    await rest()
    t.ok(first.held())
    const closed = first.close()
    t.notOk(first.held(), 'from the moment that it is given up')
    await closed
    await first.close()
    const second = stores[1]!.lease('follower', TTL)
    await rest()
    t.ok(second.held(), 'in the same moment')
    await pass(4 * TTL, () => {
      t.notOk(first.held())
      t.ok(second.held())
    })
    await second.close()
    await close()
  })

  void t.test('an unable holder releases the lease at once and is not the next holder', async (t) => {
    const { stores, rest, pass, close } = await opened(2)
    const first = stores[0]!.lease('follower', TTL)
    let able = true
    first.onlyWhile(() => able)
    await rest()
    t.ok(first.held())
    const second = stores[1]!.lease('follower', TTL)
    let may = false
    second.onlyWhile(() => may)
    able = false
    t.notOk(first.held(), 'from the moment that it is not able')
    // The other instance can take it only after it was given up, because until then it is renewed.
    may = true
    able = true
    t.ok(first.held(), 'until it is given up')
    able = false
    let both = false
    await pass(TTL - 1, () => (both ||= first.held() && second.held()))
    t.ok(second.held(), 'before its time would have been over')
    able = true
    await pass(TTL, () => {
      t.notOk(first.held())
      t.ok(second.held())
    })
    await second.close()
    await pass(4 * TTL, () => (both ||= first.held() && second.held()))
    t.ok(first.held(), 'later it may')
    t.notOk(both)
    await first.close()
    await close()
  })

  void t.test('leases of other names are independent', async (t) => {
    const { stores, rest, close } = await opened(2)
    const leases = [stores[0]!.lease('follower', TTL), stores[1]!.lease('cleaner', TTL)] as const
    await rest()
    t.ok(leases.every(({ held }) => held()))
    await Promise.all(leases.map((lease) => lease.close()))
    await close()
  })

  void t.test('an unreachable holder ends before another begins, and still closes', async (t) => {
    const { stores, rest, pass, close } = await opened(2)
    const first = stores[0]!.lease('follower', TTL)
    await rest()
    t.ok(first.held())
    const second = stores[1]!.lease('follower', TTL)
    await rest()
    await stores[0]!.close()
    await pass(TTL - 1, () => t.notOk(second.held()))
    t.ok(first.held(), 'to the last millisecond')
    await pass(1)
    t.notOk(first.held(), 'then no more')
    t.notOk(second.held(), 'and nobody else yet')
    await pass(TTL, () => t.notOk(first.held()))
    t.ok(second.held())
    await first.close()
    await second.close()
    await close()
  })
}

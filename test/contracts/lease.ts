import type { Test } from 'tap'
import type { Clock } from '../../src/clock.ts'
import type { Lease } from '../../src/projections/engine/lease.ts'
import { virtualClock } from '../virtual-clock.ts'

/** One connection of an instance to the store that it shares with others. */
export type LeaseStore = {
  readonly lease: (name: string, ttl: number) => Lease
  /** Ends the connection, as a lost network would. */
  readonly close: () => Promise<void>
}

/** A new store on a clock, which many instances can open. */
export type SharedStore = {
  readonly open: () => Promise<LeaseStore>
  /** Resolves once no lease waits for an answer of the store. */
  readonly rest: () => Promise<unknown>
}

const TTL = 600
const STEP = 50

/** What every Lease promises. */
export const leaseContract = (t: Test, make: (clock: Clock) => SharedStore): void => {
  /** So many instances of a store, whose time is moved from timer to timer, and at least every so often; `look` is done each time. */
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

  void t.test('of many instances exactly one holds a lease, at each moment', async (t) => {
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

  void t.test('a lease given up is never held again, and the next takes it before it would have ended', async (t) => {
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

  void t.test(
    'a holder that is not able any more gives it up to another at once, and is not the next one',
    async (t) => {
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
      // The other may take it only where it was given up: seen from there it is renewed until then.
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
    },
  )

  void t.test('leases of other names are apart', async (t) => {
    const { stores, rest, close } = await opened(2)
    const leases = [stores[0]!.lease('follower', TTL), stores[1]!.lease('cleaner', TTL)] as const
    await rest()
    t.ok(leases.every(({ held }) => held()))
    await Promise.all(leases.map((lease) => lease.close()))
    await close()
  })

  void t.test('a holder out of reach ends by itself before another begins, and closes all the same', async (t) => {
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

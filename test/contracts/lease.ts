import type { Test } from 'tap'
import type { Lease } from '../../src/projections/engine/lease.ts'

/** One connection of an instance to the store that it shares with others. */
export type LeaseStore = {
  readonly lease: (name: string, ttl: number) => Lease
  /** Ends the connection, as a lost network would. */
  readonly close: () => Promise<void>
}

const TTL = 600
const sleep = (ms: number) => new Promise((wake) => setTimeout(wake, ms))
const until = async (enough: () => boolean) => {
  for (const end = Date.now() + 10_000; !enough() && Date.now() < end; ) await sleep(10)
  return enough()
}

/** What every Lease promises. `make` gives a new store, which many instances can open. */
export const leaseContract = (t: Test, make: () => { readonly open: () => Promise<LeaseStore> }): void => {
  void t.test('of many instances one at a time holds a lease', async (t) => {
    const { open } = make()
    const opened = await Promise.all([open(), open(), open(), open()])
    const leases = opened.map(({ lease }) => lease('follower', TTL))
    const holding = () => leases.filter(({ held }) => held()).length
    t.ok(await until(() => holding() > 0))
    let most = 0
    for (const end = Date.now() + 2 * TTL; Date.now() < end; await sleep(10)) most = Math.max(most, holding())
    t.equal(most, 1)
    await Promise.all(leases.map(({ close }) => close()))
    await Promise.all(opened.map(({ close }) => close()))
  })

  void t.test('a lease given up is never held again, and the next takes it before it would have ended', async (t) => {
    const { open } = make()
    const [one, two] = await Promise.all([open(), open()])
    // So long that only a lease given up can be had while this test runs.
    const first = one.lease('follower', 30_000)
    t.ok(await until(() => first.held()))
    const closed = first.close()
    t.notOk(first.held(), 'from the moment that it is given up')
    await closed
    await first.close()
    const second = two.lease('follower', TTL)
    t.ok(await until(() => second.held()))
    t.notOk(first.held())
    await second.close()
    await Promise.all([one.close(), two.close()])
  })

  void t.test(
    'a holder that is not able any more gives it up to another at once, and is not the next one',
    async (t) => {
      const { open } = make()
      const [one, two] = await Promise.all([open(), open()])
      const ttl = 3_000
      const first = one.lease('follower', ttl)
      let able = true
      first.onlyWhile(() => able)
      t.ok(await until(() => first.held()))
      const second = two.lease('follower', ttl)
      let may = false
      second.onlyWhile(() => may)
      able = false
      t.notOk(first.held(), 'from the moment that it is not able')
      // The other may take it only where it was given up: seen from there it is renewed until then.
      may = true
      able = true
      t.ok(first.held(), 'until it is given up')
      able = false
      t.ok(await until(() => second.held()))
      able = true
      let again = false
      for (const end = Date.now() + ttl; Date.now() < end; await sleep(20)) again ||= first.held()
      t.notOk(again)
      await second.close()
      t.ok(await until(() => first.held()), 'later it may')
      await first.close()
      await Promise.all([one.close(), two.close()])
    },
  )

  void t.test('leases of other names are apart', async (t) => {
    const { open } = make()
    const [one, two] = await Promise.all([open(), open()])
    const leases = [one.lease('follower', TTL), two.lease('cleaner', TTL)] as const
    t.ok(await until(() => leases.every(({ held }) => held())))
    await Promise.all(leases.map(({ close }) => close()))
    await Promise.all([one.close(), two.close()])
  })

  void t.test('a holder out of reach ends by itself before another begins, and closes all the same', async (t) => {
    const { open } = make()
    const [one, two] = await Promise.all([open(), open()])
    const first = one.lease('follower', TTL)
    t.ok(await until(() => first.held()))
    const second = two.lease('follower', TTL)
    await one.close()
    let overlap = false
    const taken = await until(() => {
      overlap ||= first.held() && second.held()
      return second.held()
    })
    t.ok(taken)
    t.notOk(overlap)
    t.notOk(first.held())
    await first.close()
    await second.close()
    await two.close()
  })
}

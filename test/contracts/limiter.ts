import type { Test } from 'tap'
import type { Limiter } from '../../src/auth/rate-limit.ts'

/** Limiters on a clock that the test advances. */
export type Limits = {
  readonly limiter: (name: string, limit: number) => Limiter
  readonly pass: (ms: number) => void
}

export const count = (limiter: Limiter, client: string, times: number): void => {
  for (let n = 0; n < times; n++) limiter.count(client)
}

/** Contract of Limiter for its own counts. `make` returns limiters at the start of a minute. */
export const limiterContract = (t: Test, make: (t: Test) => Limits): void => {
  void t.test('limits the events of a client per minute independent of others', async (t) => {
    const limiter = make(t).limiter('tries', 3)
    count(limiter, 'ann', 2)
    count(limiter, 'bob', 5)
    t.notOk(limiter.exhausted('ann'))
    limiter.count('ann')
    t.ok(limiter.exhausted('ann'))
    limiter.count('ann')
    t.ok(limiter.exhausted('ann'), 'and it stays used up')
    t.ok(limiter.exhausted('bob'))
    t.notOk(limiter.exhausted('eve'))
  })

  void t.test('a check counts nothing', async (t) => {
    const limiter = make(t).limiter('tries', 1)
    for (let n = 0; n < 10; n++) t.notOk(limiter.exhausted('ann'))
  })

  void t.test('counts start at 0 in a new minute', async (t) => {
    const { limiter: named, pass } = make(t)
    const limiter = named('tries', 2)
    count(limiter, 'ann', 2)
    pass(59_999)
    t.ok(limiter.exhausted('ann'))
    pass(1)
    t.notOk(limiter.exhausted('ann'))
    count(limiter, 'ann', 1)
    t.notOk(limiter.exhausted('ann'))
    count(limiter, 'ann', 1)
    t.ok(limiter.exhausted('ann'))
  })

  void t.test('returns the remaining whole seconds, at least one, also after idle minutes', async (t) => {
    const { limiter: named, pass } = make(t)
    const limiter = named('tries', 1)
    t.equal(limiter.retryAfter(), 60)
    pass(30_001)
    t.equal(limiter.retryAfter(), 30)
    pass(29_998)
    t.equal(limiter.retryAfter(), 1)
    pass(5 * 60_000 + 1)
    t.equal(limiter.retryAfter(), 60)
  })

  void t.test('limits of other names count separately', async (t) => {
    const { limiter } = make(t)
    const [tries, logins] = [limiter('tries', 1), limiter('logins', 1)]
    tries.count('ann')
    t.ok(tries.exhausted('ann'))
    t.notOk(logins.exhausted('ann'))
  })

  void t.test('counts clients beyond capacity with their network, and no newcomer with others', async (t) => {
    const { limiter: named, pass } = make(t)
    const limiter = named('tries', 2)
    limiter.count('203.0.113.7')
    for (let n = 1; n < 100_000; n++) limiter.count(`2001:db8:${n >> 16}:${(n & 65_535).toString(16)}::/64`)
    limiter.count('203.0.113.7')
    t.ok(limiter.exhausted('203.0.113.7'), 'who was counted before keeps its count')

    for (const front of ['', 'token-1 ']) {
      const [own, sibling] = [`${front}2001:db8:7:1::/64`, `${front}2001:db8:7:2::/64`]
      const [near, far] = [`${front}198.51.100.1`, `${front}198.51.100.2`]
      for (const [first, second] of [
        [own, sibling],
        [near, far],
      ] as const) {
        t.notOk(limiter.exhausted(first), first)
        count(limiter, first, 2)
        t.ok(limiter.exhausted(second), `${second} is in the network of ${first}`)
      }
    }
    for (const other of ['2001:db8:8:1::/64', '198.51.101.1', 'token-2 198.51.100.1', 'ns/batch', 'login-1'])
      t.notOk(limiter.exhausted(other), `${other} is in none of them`)
    count(limiter, 'ns/batch', 2)
    t.ok(limiter.exhausted('ns/batch'))
    t.notOk(limiter.exhausted('ns/other'), 'what has no address counts alone')
    pass(60_000)
    for (const one of ['2001:db8:7:2::/64', '198.51.100.2', 'ns/batch', '203.0.113.7'])
      t.notOk(limiter.exhausted(one), 'until the minute ends')
  })

  void t.test('counts networks beyond capacity with wider ones, and forgets the smallest', async (t) => {
    const limiter = make(t).limiter('tries', 2)
    for (let n = 0; n < 120_000; n++)
      limiter.count(`2001:${(n >> 16).toString(16)}:${(n & 65_535).toString(16)}:1::/64`)
    count(limiter, '2a00:1:1:1::/64', 2)
    t.ok(limiter.exhausted('2a00:1:2:2::/64'), 'the /32')
    count(limiter, '198.51.100.1', 2)
    t.ok(limiter.exhausted('198.51.7.7'), 'the /16')
    t.notOk(limiter.exhausted('2a00:2:1:1::/64'))
    t.notOk(limiter.exhausted('198.52.100.1'))
    for (let n = 0; n < 50_000; n++) limiter.count(`2b${(n >> 15).toString(16)}0:${(n & 32_767).toString(16)}:1:1::/64`)
    t.ok(limiter.exhausted('2a00:1:3:3::/64'), 'who counts for more stays')
    t.ok(limiter.exhausted('198.51.7.7'))
    t.notOk(limiter.exhausted('203.0.113.7'), 'and a newcomer is let in')
  })
}

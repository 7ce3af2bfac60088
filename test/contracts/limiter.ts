import type { Test } from 'tap'
import type { Limiter } from '../../src/auth/rate-limit.ts'

/** Limits by a clock that a test moves. */
export type Limits = {
  readonly limiter: (name: string, limit: number) => Limiter
  readonly pass: (ms: number) => void
}

export const count = (limiter: Limiter, client: string, times: number): void => {
  for (let n = 0; n < times; n++) limiter.count(client)
}

/** What every Limiter promises of what it counted itself. `make` gives limits at the beginning of a minute. */
export const limiterContract = (t: Test, make: (t: Test) => Limits): void => {
  void t.test('a client has so many events a minute, whatever others do', async (t) => {
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

  void t.test('asking counts nothing', async (t) => {
    const limiter = make(t).limiter('tries', 1)
    for (let n = 0; n < 10; n++) t.notOk(limiter.exhausted('ann'))
  })

  void t.test('a new minute begins with nothing counted', async (t) => {
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

  void t.test(
    'it says how many whole seconds are left, at least one, also when nobody asked for minutes',
    async (t) => {
      const { limiter: named, pass } = make(t)
      const limiter = named('tries', 1)
      t.equal(limiter.retryAfter(), 60)
      pass(30_001)
      t.equal(limiter.retryAfter(), 30)
      pass(29_998)
      t.equal(limiter.retryAfter(), 1)
      pass(5 * 60_000 + 1)
      t.equal(limiter.retryAfter(), 60)
    },
  )

  void t.test('limits of other names count apart', async (t) => {
    const { limiter } = make(t)
    const [tries, logins] = [limiter('tries', 1), limiter('logins', 1)]
    tries.count('ann')
    t.ok(tries.exhausted('ann'))
    t.notOk(logins.exhausted('ann'))
  })

  void t.test('where there is room for no more clients, further ones share one count', async (t) => {
    const { limiter: named, pass } = make(t)
    const limiter = named('tries', 2)
    for (let n = 0; n < 100_000; n++) limiter.count(`client ${n}`)
    t.notOk(limiter.exhausted('client 7'), 'who is known has a count of its own')
    limiter.count('late')
    t.notOk(limiter.exhausted('later'))
    limiter.count('later')
    t.ok(limiter.exhausted('latest'))
    t.notOk(limiter.exhausted('client 7'))
    pass(60_000)
    t.notOk(limiter.exhausted('latest'), 'until the minute ends')
  })
}

import t from 'tap'
import { limiter } from '../../src/auth/rate-limit.ts'
import { limiterContract } from '../contracts/limiter.ts'
import { virtualClock } from '../virtual-clock.ts'

void t.test('a rate limiter without Redis passes the shared tests of every limiter', async (t) =>
  limiterContract(t, () => {
    let now = 0
    const clock = { ...virtualClock(), monotonic: () => now }
    return { limiter: (_, limit) => limiter(limit, clock), pass: (ms) => void (now += ms) }
  }),
)

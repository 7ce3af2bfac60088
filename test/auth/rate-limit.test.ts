import t from 'tap'
import { systemClock } from '../../src/clock.ts'
import { limiter } from '../../src/auth/rate-limit.ts'
import { limiterContract } from '../contracts/limiter.ts'

void t.test('Limiter of one process', async (t) =>
  limiterContract(t, () => {
    let now = 0
    return {
      limiter: (_, limit) => limiter(limit, { ...systemClock, monotonic: () => now }),
      pass: (ms) => void (now += ms),
    }
  }),
)

import t from 'tap'
import { revokedElsewhere } from './revoking.ts'

// 2,000 tokens are split over two files to stay within the time limit.
await t.test('new and revoked tokens take effect at once over a server that is ahead of the leader', (t) =>
  revokedElsewhere(t, 3, 28),
)

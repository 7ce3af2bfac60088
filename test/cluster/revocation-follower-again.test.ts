import t from 'tap'
import { revokedElsewhere } from './revoking.ts'

// 2,000 tokens are split over two files to stay within the time limit.
await t.test('over a follower ahead of the leader: applies new and revoked tokens at once', (t) =>
  revokedElsewhere(t, 2, 28),
)

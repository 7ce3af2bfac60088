import t from 'tap'
import { revokedElsewhere } from './revoking.ts'

await t.test('new and revoked tokens take effect at once over a server that is ahead of the leader', (t) =>
  revokedElsewhere(t, 2, 28),
)

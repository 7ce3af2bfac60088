import t from 'tap'
import { refuse } from '../../src/base/errors.ts'
import { lastChanges } from '../../src/http/present/last-change.ts'

const change = {
  changedAt: '2026-01-01T00:00:00.000Z',
  changedBy: { kind: 'authentication', method: 'token', id: 'a' },
}

await t.test('without read models the last change is returned without the name of its token', async (t) => {
  for (const reason of ['backend_unavailable', 'view_behind'] as const) {
    const told = lastChanges({ views: { get: async () => refuse(reason) } })
    t.strictSame(await told(change as never), change, reason)
  }
  const broken = lastChanges({ views: { get: async () => refuse('event_unreadable') } })
  await t.rejects(broken(change as never))
})

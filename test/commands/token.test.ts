import t from 'tap'
import { token } from '../../src/commands/token.ts'
import type { TokenEvent } from '../../src/events/token.ts'
import { given } from '../given.ts'
import { tokenIssued as issued } from '../samples.ts'

const history = given(token)
const revoked = { type: 'TokenRevoked', data: { id: 't1' } } as const
const expired = { type: 'TokenExpired', data: { id: 't1', expiresAt: issued.data.expiresAt } } as const
const { expiresAt: _expiresAt, ...forever } = issued.data
const missing = 'authentication "t1": resource not found'

await t.test('a token is issued once', async () => {
  history().when('IssueToken', issued.data).then(issued)
  history(issued).when('IssueToken', issued.data).refused('not_unique')
  history(issued, revoked).when('IssueToken', issued.data).refused('not_unique')
})

await t.test('the expiry of a token can become earlier, but cannot be in the past', async () => {
  const now = '2026-01-15T00:00:00.000Z'
  const ask = (expiresAt: string) => ({ id: 't1', expiresAt, now })
  const to = (to: string) =>
    ({ type: 'TokenExpiryChanged', data: { id: 't1', from: issued.data.expiresAt, to } }) as const
  history(issued).when('ExpireTokenEarlier', ask('2026-01-20T00:00:00.000Z')).then(to('2026-01-20T00:00:00.000Z'))
  history(issued).when('ExpireTokenEarlier', ask('2025-01-01T00:00:00.000Z')).then(to(now))
  history(issued).when('ExpireTokenEarlier', ask(issued.data.expiresAt)).then()
  history(issued)
    .when('ExpireTokenEarlier', ask('2026-02-01T00:00:00.001Z'))
    .refused('expiry_not_earlier', 'invalid field expiresAt: must not be later than the present expiry')
  const later = { ...ask('2026-01-20T00:00:00.000Z'), now: '2026-03-01T00:00:00.000Z' }
  history(issued).when('ExpireTokenEarlier', later).then()
  history().when('ExpireTokenEarlier', ask(now)).refused('not_found', missing)
  history(issued, revoked).when('ExpireTokenEarlier', ask(now)).refused('not_found', missing)
})

await t.test('a token without an expiry can get any future expiry', async () => {
  const ask = { id: 't1', expiresAt: '2030-01-01T00:00:00.000Z', now: '2026-01-15T00:00:00.000Z' }
  history({ type: 'TokenIssued', data: forever })
    .when('ExpireTokenEarlier', ask)
    .then({ type: 'TokenExpiryChanged', data: { id: 't1', to: ask.expiresAt } })
})

await t.test('revoking a live token ends it, and revoking any other does nothing', async () => {
  history(issued).when('RevokeToken', { id: 't1' }).then(revoked)
  history(issued, revoked).when('RevokeToken', { id: 't1' }).then()
  history(issued, expired).when('RevokeToken', { id: 't1' }).then()
  history().when('RevokeToken', { id: 't1' }).then()
})

await t.test('the cleanup removes exactly the tokens that expired before the given time', async () => {
  history(issued).when('CleanUpToken', { id: 't1', before: '2026-02-01T00:00:00.001Z' }).then(expired)
  history(issued).when('CleanUpToken', { id: 't1', before: '2026-02-01T00:00:00.000Z' }).then()
  history({ type: 'TokenIssued', data: forever })
    .when('CleanUpToken', { id: 't1', before: '2099-01-01T00:00:00.000Z' })
    .then()
  history(issued, revoked).when('CleanUpToken', { id: 't1', before: '2099-01-01T00:00:00.000Z' }).then()
  history().when('CleanUpToken', { id: 't1', before: '2099-01-01T00:00:00.000Z' }).then()
})

await t.test('a token exists only while it is live', async (t) => {
  const exists = (...events: readonly TokenEvent[]) => token.exists(history(...events).state, { id: 't1' })
  t.notOk(exists())
  t.ok(exists(issued))
  t.notOk(exists(issued, revoked))
  t.notOk(exists(issued, expired))
})

await t.test('grants of a token are reduced only if they are unchanged, and by a later configuration', async () => {
  const wide = { grants: [{ place: '*', role: 'viewer' }], roles: { viewer: ['flag.read'] } }
  const narrow = { grants: [{ place: 'shop', role: 'viewer' }], roles: wide.roles }
  const granted = { type: 'TokenIssued', data: { ...issued.data, ...wide, policy: 2 } } as const
  const ask = { id: 't1', from: wide, to: narrow, policy: 3 }
  const narrowed = { type: 'TokenGrantsNarrowed', data: ask } as const
  history(granted).when('NarrowGrants', ask).then(narrowed)
  history(granted)
    .when('NarrowGrants', { ...ask, policy: 2 })
    .refused('invalid_argument', "invalid field policy: must be later than the token's")
  history(granted, narrowed)
    .when('NarrowGrants', { ...ask, from: narrow })
    .refused('invalid_argument', "invalid field policy: must be later than the token's")
  history(granted, narrowed)
    .when('NarrowGrants', { ...ask, policy: 4 })
    .refused('write_conflict')
  history(issued).when('NarrowGrants', ask).refused('write_conflict')
  const fromFull = { id: 't1', to: wide, policy: 0 }
  history(issued).when('NarrowGrants', fromFull).then({ type: 'TokenGrantsNarrowed', data: fromFull })
  history(granted, revoked).when('NarrowGrants', ask).refused('not_found', missing)
})

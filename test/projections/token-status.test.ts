import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { evolve } from '../../src/commands/decider.ts'
import { token } from '../../src/commands/token.ts'
import { meets, ofStatus, STATUSES, statusOf, usableUntil } from '../../src/projections/token-status.ts'
import { type TokenDoc, tokens } from '../../src/projections/tokens.ts'
import { tokenAsks } from '../commands/asks.ts'
import { anyAsks, decided, history } from '../commands/laws.ts'
import { rowAfter } from './stored.ts'

/**
 * Arbitrary history of a token with its document, decider state and an instant: an expiry, 1 ms next to it, or far from
 * any.
 */
const anyMoment = fc.tuple(
  anyAsks(tokenAsks, 20).map((asks) => {
    const events = history(token, asks)
    const state = events.reduce((state, event) => evolve(token, state, event), token.initial)
    return { doc: rowAfter(tokens, 'token-t1', events)?.doc, state }
  }),
  fc
    .tuple(
      fc.constantFrom('2025-12-01', '2026-01-01', '2026-02-01', '2026-03-01', '2027-01-01'),
      fc.constantFrom(-1, 0, 1),
    )
    .map(([day, ms]) => new Date(Date.parse(day) + ms)),
)
type State = typeof token.initial

const law = (name: string, holds: (doc: TokenDoc, state: State, now: Date) => void) =>
  t.test(name, async (t) => {
    const met = new Set<string>()
    fc.assert(
      fc.property(anyMoment, ([{ doc, state }, now]) => {
        if (!doc) return assert.equal(state.status, 'absent')
        met.add(statusOf(doc, now))
        holds(doc, state, now)
      }),
      { numRuns: 500, seed: 1 },
    )
    t.strictSame([...met].sort(), [...STATUSES].sort(), 'tokens of every status were met')
  })

await law('a record has exactly one status, by its conditions', (doc, _state, now) => {
  const fitting = STATUSES.filter((status) => meets(doc, ofStatus[status](now.toISOString())))
  assert.deepEqual(fitting, [statusOf(doc, now)])
})

await law('it is usable until one instant, in agreement with its status', (doc, _state, now) => {
  assert.equal(now.getTime() < usableUntil(doc), statusOf(doc, now) === 'ACTIVE')
})

await law('the decider agrees', (doc, state, now) => {
  const { status, expiresAt } = state
  const usable = status === 'live' && (expiresAt === undefined || now.toISOString() < expiresAt)
  assert.equal(statusOf(doc, now) === 'ACTIVE', usable)
  assert.equal(statusOf(doc, now) === 'DELETED', status === 'deleted')
})

await law('a revoked token was not deleted, a cleaned-up one had expired', (doc, state, now) => {
  const [id, before] = [doc.id, now.toISOString()]
  const revoked = decided(token, state, { name: 'RevokeToken', command: { id } })
  assert.equal(revoked.length > 0, statusOf(doc, now) !== 'DELETED')
  const cleaned = decided(token, state, { name: 'CleanUpToken', command: { id, before } })
  if (cleaned.length > 0) assert.equal(statusOf(doc, now), 'EXPIRED')
})
